package executor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Slots is the type of what the templates of an executor may read: args, and
// nothing else.
func Slots(arguments value.Type) value.Type {
	return value.Struct(map[string]value.Field{"args": {Type: arguments}})
}

// Lookup gives templates the canonical arguments of a call.
func Lookup(arguments map[string]any) func(slot []string) (any, bool) {
	return func(slot []string) (any, bool) {
		if len(slot) < 2 || slot[0] != "args" {
			return nil, false
		}
		var v any = arguments
		for _, name := range slot[1:] {
			object, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = object[name]; !ok {
				return nil, false
			}
		}
		return v, true
	}
}

// PathArgument returns the JSON pointer, as in Input.Paths, of the path
// argument that a slot names. An error says what the slot is instead.
func PathArgument(slot []string, arguments value.Type) (string, error) {
	name := strings.Join(slot, ".")
	found, optional, ok := Slots(arguments).Lookup(slot)
	switch {
	case !ok || len(slot) < 2:
		return "", errors.New(name + " is not an argument")
	case found.Kind != value.String || found.Format != "path":
		return "", errors.New(name + " is not a path")
	case optional:
		return "", errors.New(name + " may be absent")
	}
	steps := make([]any, 0, len(slot))
	for _, step := range slot[1:] {
		steps = append(steps, step)
	}
	return document.Pointer(steps...), nil
}

// TextArgument reports why a slot cannot be the whole of a text that must be
// there, or nil.
func TextArgument(slot []string, arguments value.Type) error {
	found, optional, ok := Slots(arguments).Lookup(slot)
	name := strings.Join(slot, ".")
	switch {
	case !ok:
		return errors.New(name + " is not an argument")
	case found.Kind == value.List || found.Kind == value.Object:
		return fmt.Errorf("a text is wanted, and %s is a %s", name, found.Kind)
	case optional:
		return fmt.Errorf("%s may be absent here, give it a default or make it required", name)
	}
	return nil
}
