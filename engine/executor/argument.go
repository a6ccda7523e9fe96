package executor

import (
	"errors"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Slots is the type of what the templates of an executor may read: args, and
// nothing else.
func Slots(arguments value.Type) value.Type {
	return value.Struct(map[string]value.Field{"args": {Type: arguments}})
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

// DefaultTimeout is how long a tool may take that does not say.
const DefaultTimeout = 30 * time.Second

// Timeout is how long a tool may take.
func Timeout(tool *document.Tool) time.Duration {
	if tool.Timeout > 0 {
		return time.Duration(tool.Timeout)
	}
	return DefaultTimeout
}
