// Package file answers one question: how is a file read or changed?
//
// A tool reads, lists, searches or patches what its path argument names, and
// the path was resolved under a root before this package sees it. Links, pipes
// and devices are not followed, Writ's own files are out of reach (package
// rooted), and every result is bounded (T-14 to T-17). Reading happens at
// execution, in one go; a patch is computed in prepare, shown as a
// difference, and written only over the very file that was shown. Output
// names files inside the root, never the path of the host.
package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
	"github.com/writ-dev/writ/engine/template"
)

// SizeLimit is the largest file that is read, searched or made, in bytes
// (T-14, T-16, T-17).
const SizeLimit = 1 << 20

// Kind compiles file tools. The zero value is ready to use.
type Kind struct{}

// Executor carries out one file tool.
type Executor struct {
	operation               string // read, list, search or patch
	argument                string // JSON pointer of the path argument
	query, oldText, newText *template.Template
	guard                   executor.Guard
}

// plan is what Prepare pins.
type plan struct {
	resource executor.Resource
	query    string
	patch    *patch
}

// Compile checks that the path is an argument of format path and that the
// texts are templates over arguments.
func (Kind) Compile(d executor.Declaration) (executor.Executor, diag.List) {
	c := compiler{declaration: d}
	e := &Executor{guard: d.Guard}
	doc := d.Tool.File
	for operation, text := range map[string]string{"read": doc.Read, "list": doc.List, "search": doc.Search, "patch": doc.Patch} {
		if text == "" {
			continue
		}
		if e.operation != "" {
			c.errorf("file-operation", []any{"file"}, "give exactly one of read, list, search and patch")
			return nil, c.problems
		}
		e.operation, e.argument = operation, c.path(operation, text)
	}
	switch {
	case e.operation == "":
		c.errorf("file-operation", []any{"file"}, "give one of read, list, search and patch")
	case e.operation == "search":
		if doc.Query == "" {
			c.errorf("file-query", []any{"file"}, "search needs a query")
		}
		e.query = c.parse("query", doc.Query)
	case e.operation == "patch":
		e.oldText, e.newText = c.parse("old_text", doc.OldText), c.parse("new_text", doc.NewText)
	}
	c.unused(e.operation)
	if c.problems.HasErrors() {
		return nil, c.problems
	}
	return e, c.problems
}

type compiler struct {
	declaration executor.Declaration
	problems    diag.List
}

func (c *compiler) errorf(code string, path []any, format string, args ...any) *diag.Diagnostic {
	return c.problems.Errorf(c.declaration.Tool.Source.At(path...), code, format, args...)
}

// unused refuses texts that the operation would ignore.
func (c *compiler) unused(operation string) {
	doc := c.declaration.Tool.File
	for key, owner := range map[string]struct{ text, operation string }{
		"query": {doc.Query, "search"}, "old_text": {doc.OldText, "patch"}, "new_text": {doc.NewText, "patch"},
	} {
		if owner.text != "" && operation != "" && owner.operation != operation {
			c.errorf("file-unused", []any{"file", key}, "%s has no meaning for %s", key, operation)
		}
	}
}

func (c *compiler) parse(key, text string) *template.Template {
	at := c.declaration.Tool.Source.At("file", key)
	parsed, problems := template.Parse(text, at)
	if !problems.HasErrors() {
		problems = append(problems, parsed.Check(executor.Slots(c.declaration.Arguments), template.Word)...)
	}
	c.problems = append(c.problems, problems...)
	if problems.HasErrors() {
		return nil
	}
	return parsed
}

// path returns the JSON pointer of the argument that a path slot names.
func (c *compiler) path(key, text string) string {
	parsed := c.parse(key, text)
	if parsed == nil {
		return ""
	}
	slot, whole := parsed.Whole()
	err := errors.New("a file is named by exactly one slot")
	pointer := ""
	if whole {
		pointer, err = executor.PathArgument(slot, c.declaration.Arguments)
	}
	if err != nil {
		c.errorf("file-path", []any{"file", key}, "%v", err).
			Hinted(`write "${args.NAME}", the name of a required argument with format: path and under`)
	}
	return pointer
}

// Prepare names the file, looks whether it is there, and computes a patch.
func (e *Executor) Prepare(_ context.Context, input executor.Input) (call.Effect, error) {
	resource, ok := input.Paths[e.argument]
	if !ok {
		return call.Effect{}, fmt.Errorf("argument %s was not resolved under a root", strings.TrimPrefix(e.argument, "/"))
	}
	if err := rooted.Allowed(resource, e.guard); err != nil {
		return call.Effect{}, err
	}
	p := plan{resource: resource}
	effect := call.Effect{
		Bound: map[string]any{
			"operation": e.operation, "root": resource.Root,
			"file": filepath.Join(resource.RootPath, filepath.FromSlash(resource.Relative)),
		},
		Preview: e.operation + " " + rooted.Label(resource),
	}
	lookup := template.Values(map[string]any{"args": input.Arguments})
	var err error
	switch e.operation {
	case "search":
		if p.query, err = e.query.Text(lookup); err != nil {
			return call.Effect{}, fmt.Errorf("query: %w", err)
		}
		if p.query == "" || strings.ContainsAny(p.query, "\n\r") {
			return call.Effect{}, errors.New("query: give a text of one line that is not empty")
		}
		effect.Bound["query"] = p.query
		effect.Preview += fmt.Sprintf(" for %q", p.query)
	case "patch":
		err = e.preparePatch(input, &p, &effect)
	}
	if err == nil && !input.Offline && e.operation != "patch" {
		err = e.exists(resource)
	}
	if err != nil {
		return call.Effect{}, err
	}
	effect.Pinned = p
	return effect, nil
}

// exists finds before anybody is asked what could only fail.
func (e *Executor) exists(resource executor.Resource) error {
	if e.operation == "list" || resource.Relative == "." {
		folder, err := rooted.OpenFolder(resource, e.guard)
		if err == nil {
			folder.Close()
		}
		return err
	}
	folder, name, err := rooted.OpenParent(resource, e.guard)
	if err != nil {
		return err
	}
	defer folder.Close()
	if e.operation == "search" {
		if sub, err := folder.Sub(name); err == nil {
			sub.Close()
			return nil
		}
	}
	opened, _, err := folder.Open(name)
	if err != nil {
		return err
	}
	return opened.Close()
}

// Execute carries out the plan that Prepare pinned.
func (e *Executor) Execute(ctx context.Context, effect call.Effect, run executor.Run) call.Outcome {
	p, ok := effect.Pinned.(plan)
	if !ok {
		return executor.Fail("the call was not prepared")
	}
	var text []byte
	var err error
	switch e.operation {
	case "read":
		text, err = e.read(p.resource)
	case "list":
		text, err = e.list(ctx, p.resource)
	case "search":
		text, err = e.search(ctx, p.resource, p.query)
	case "patch":
		text, err = e.apply(p)
	}
	if ctx.Err() != nil && err != nil {
		return executor.Ended(ctx)
	}
	if err != nil {
		return executor.Fail(err.Error())
	}
	return call.Outcome{Status: call.Complete, Body: run.Capture(text), MediaType: "text/plain; charset=utf-8"}
}
