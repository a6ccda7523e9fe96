package tool

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Anywhere is the root that a path argument names to leave all roots.
const Anywhere = "anywhere"

// Resolver resolves path arguments.
type Resolver interface {
	// Resolve finds what was sent under one of the roots. Must is what the
	// schema demands of the path. Absolute is free of symlinks.
	Resolve(under []string, sent, must string) (where executor.Resource, absolute string, err error)
}

// Arguments are decoded, canonical and resolved.
type Arguments struct {
	Values map[string]any
	Paths  map[string]executor.Resource
	Locks  []string
}

// InvalidError says that the arguments cannot be used. It is for the caller
// to read.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return "invalid arguments: " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *InvalidError) Unwrap() error { return e.Err }

// RefusedError says that a refuse check of the tool held.
type RefusedError struct{ ID, Message string }

func (e *RefusedError) Error() string { return fmt.Sprintf("refused by %s: %s", e.ID, e.Message) }

// Decode turns the bytes of a call into canonical arguments, with every path
// resolved, and names the locks that the call needs.
func (t *Tool) Decode(request call.Request, roots Resolver) (Arguments, error) {
	values, err := t.Arguments.Decode(request.Arguments)
	if err != nil {
		return Arguments{}, &InvalidError{err}
	}
	arguments := Arguments{Values: values}
	if err := t.resolve(&arguments, roots); err != nil {
		return Arguments{}, &InvalidError{err}
	}
	if len(t.locks) == 0 {
		return arguments, nil
	}
	lookup := t.lookup(request, values)
	for _, lock := range t.locks {
		name, err := lock.Text(lookup)
		if err != nil {
			return Arguments{}, &InvalidError{fmt.Errorf("name the lock: %w", err)}
		}
		arguments.Locks = append(arguments.Locks, name)
	}
	return arguments, nil
}

// Prepare fixes what the call would do. Previous is the effect that was
// approved, when a call is prepared again.
func (t *Tool) Prepare(ctx context.Context, request call.Request, arguments Arguments, offline bool, previous *call.Effect) (call.Prepared, condition.Environment, error) {
	scope, err := t.renderScope(request, arguments.Values)
	if err != nil {
		return call.Prepared{}, condition.Environment{}, &InvalidError{err}
	}
	environment := t.Values(request, arguments.Values, scope, nil)
	for _, check := range t.refuse {
		if holds, err := check.Condition.Evaluate(&environment); holds || err != nil {
			return call.Prepared{}, environment, &RefusedError{ID: check.ID, Message: check.Message}
		}
	}
	effect, err := t.Executor.Prepare(ctx, executor.Input{
		Arguments: arguments.Values, Paths: arguments.Paths,
		Principal: request.Principal, Offline: offline, Previous: previous,
	})
	if err != nil {
		return call.Prepared{}, environment, err
	}
	if effect.Preview == "" {
		return call.Prepared{}, environment, errors.New("the tool gave nothing to show an approver")
	}
	environment.Facts = effect.Facts
	prepared := call.Prepared{
		Request: request, Arguments: arguments.Values, Scope: scope, Effect: effect,
		Locks: arguments.Locks, ToolDigest: t.Digest,
	}
	return prepared, environment, nil
}

func (t *Tool) renderScope(request call.Request, values map[string]any) (map[string]any, error) {
	scope := make(map[string]any, len(t.scope))
	if len(t.scope) == 0 {
		return scope, nil
	}
	lookup := t.lookup(request, values)
	for _, key := range t.scopeKeys {
		v, present, err := t.scope[key].Value(lookup)
		if err != nil {
			return nil, fmt.Errorf("scope %s: %w", key, err)
		}
		if present {
			scope[key] = v
		}
	}
	return scope, nil
}

// lookup gives templates the values of the caller.
func (t *Tool) lookup(request call.Request, values map[string]any) template.Lookup {
	return template.Values(map[string]any{"args": values, "principal": principalOf(request.Principal)})
}

// resolve replaces every path argument by its absolute form. The values were
// made by this call's decoding, so they may still be written to.
func (t *Tool) resolve(arguments *Arguments, roots Resolver) error {
	paths := t.Arguments.Paths()
	if len(paths) == 0 {
		return nil
	}
	arguments.Paths = map[string]executor.Resource{}
	for _, declared := range paths {
		steps := strings.Split(strings.TrimPrefix(declared.Pointer, "/"), "/")
		visit := func(pointer, sent string) (string, error) {
			where, absolute, err := roots.Resolve(declared.Under, sent, declared.Must)
			if err != nil {
				return "", fmt.Errorf("%s: %w", strings.TrimPrefix(pointer, "/"), err)
			}
			arguments.Paths[pointer] = where
			return absolute, nil
		}
		if err := eachText(arguments.Values, "", steps, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachText visits the strings that a pointer pattern selects, where the step
// * selects every item, and replaces each by what visit returns.
func eachText(v any, at string, steps []string, visit func(pointer, text string) (string, error)) error {
	step := func(key string, child any, put func(any)) error {
		pointer := at + "/" + key
		if len(steps) > 1 {
			return eachText(child, pointer, steps[1:], visit)
		}
		text, ok := child.(string)
		if !ok {
			return nil
		}
		replaced, err := visit(pointer, text)
		put(replaced)
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range value.Keys(v) {
			if steps[0] != "*" && pointerKey(key) != steps[0] {
				continue
			}
			if err := step(pointerKey(key), v[key], func(r any) { v[key] = r }); err != nil {
				return err
			}
		}
	case []any:
		if steps[0] != "*" {
			return nil
		}
		for i, item := range v {
			if err := step(strconv.Itoa(i), item, func(r any) { v[i] = r }); err != nil {
				return err
			}
		}
	}
	return nil
}

func pointerKey(key string) string { return document.Pointer(key)[1:] }
