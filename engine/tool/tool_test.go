package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/tool"
	"github.com/writ-dev/writ/engine/value"
)

// kind is an executor that shows what it was given.
type kind struct{ input executor.Input }

func (k *kind) Compile(executor.Declaration) (executor.Executor, diag.List) { return k, nil }

func (k *kind) Prepare(_ context.Context, in executor.Input) (call.Effect, error) {
	k.input = in
	return call.Effect{Bound: map[string]any{}, Preview: "p"}, nil
}

func (k *kind) Execute(context.Context, call.Effect, executor.Run) call.Outcome {
	return call.Outcome{Status: call.Complete}
}

type fixture struct {
	kind  kind
	roots *root.Set
	work  string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{work: filepath.Join(top, "work")}
	for _, dir := range []string{"work/a", "work/b", "outside"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside", filepath.Join(f.work, "out")); err != nil {
		t.Skipf("this system makes no symlinks: %v", err)
	}
	if err := os.Symlink("a", filepath.Join(f.work, "link")); err != nil {
		t.Fatal(err)
	}
	if f.roots, err = root.Open(map[string]string{"work": f.work}, top, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) compile(t *testing.T, change func(*document.Tool)) (*tool.Tool, diag.List) {
	t.Helper()
	doc := &document.Tool{
		Header: document.Header{Kind: "Tool", Name: "t"}, Description: "A tool.", Risk: "read_only",
		Command: &document.Command{Argv: []string{"true"}},
	}
	change(doc)
	return tool.Compile(doc, tool.Environment{
		Kinds: executor.Kinds{"command": &f.kind}, Root: f.roots.Declared,
		Claims: map[string]value.Field{"team": value.Of(value.String)},
	})
}

func request(arguments string) call.Request {
	return call.Request{
		Tool: "t", Arguments: []byte(arguments), Entry: call.EntryMCP,
		Principal: call.Principal{Name: "ann", Roles: []string{"dev"}, Claims: map[string]any{"team": "ops", "name": "root", "roles": []any{"admin"}}},
	}
}

const pathsSchema = `{"type": "object", "properties": {
	"one":  {"type": "string", "format": "path", "under": ["work"], "default": "a"},
	"list": {"type": "array", "items": {"type": "string", "format": "path", "under": ["work"]}, "default": ["link", "b"]},
	"map":  {"type": "object", "additionalProperties": {"type": "string", "format": "path", "under": ["work"]}},
	"deep": {"type": "object", "properties": {"to": {"type": "object", "properties": {"it": {"type": "string", "format": "path", "under": ["work"]}}}}}
}}`

// Every path is resolved, wherever it stands, and what the executor gets is
// what the arguments say.
func TestPathsAreResolvedEverywhere(t *testing.T) {
	f := newFixture(t)
	compiled, problems := f.compile(t, func(doc *document.Tool) {
		doc.InputSchema = []byte(pathsSchema)
		doc.Scope = map[string]string{"one": "${args.one}"}
		doc.Locks = []string{"file:${args.one}"}
	})
	if compiled == nil {
		t.Fatal(problems)
	}
	at := func(name string) string { return filepath.Join(f.work, name) }
	for range 2 { // a default that one call resolved is not the next call's
		arguments, err := compiled.Decode(request(`{"map": {"a/b": "link", "*": "b"}, "deep": {"to": {"it": "./a/../link"}}}`), f.roots)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"one": at("a"), "list": []any{at("a"), at("b")}, "map": map[string]any{"a/b": at("a"), "*": at("b")},
			"deep": map[string]any{"to": map[string]any{"it": at("a")}},
		}
		if !value.Equal(arguments.Values, want) {
			t.Fatalf("got %s", value.JSON(arguments.Values))
		}
		for pointer, relative := range map[string]string{"/one": "a", "/list/0": "a", "/list/1": "b", "/map/a~1b": "a", "/map/*": "b", "/deep/to/it": "a"} {
			if got := arguments.Paths[pointer]; got.Root != "work" || got.Relative != relative {
				t.Errorf("%s is %+v", pointer, got)
			}
		}
		if arguments.Locks[0] != "file:"+at("a") {
			t.Errorf("locks %q", arguments.Locks)
		}
		prepared, _, err := compiled.Prepare(context.Background(), request(`{}`), arguments, false, nil)
		if err != nil || prepared.Scope["one"] != at("a") || f.kind.input.Arguments["one"] != at("a") {
			t.Errorf("prepared %+v, %v", prepared, err)
		}
	}
	for _, arguments := range []string{
		`{"one": "out"}`, `{"one": "out/new"}`, `{"list": ["a", "out"]}`, `{"map": {"x": "../outside"}}`, `{"deep": {"to": {"it": "/etc/passwd"}}}`, `{"list": [["a"]]}`, `{"map": {"x": {"y": "a"}}}`,
	} {
		var invalid *tool.InvalidError
		if _, err := compiled.Decode(request(arguments), f.roots); !errors.As(err, &invalid) || strings.Contains(err.Error(), f.work) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// Claims add to a principal and hide nothing of it.
func TestClaimsHideNothing(t *testing.T) {
	f := newFixture(t)
	compiled, problems := f.compile(t, func(doc *document.Tool) {
		doc.Scope = map[string]string{"who": "${principal.name}", "team": "${principal.team}"}
	})
	if compiled == nil {
		t.Fatal(problems)
	}
	_, environment, err := compiled.Prepare(context.Background(), request(`{}`), tool.Arguments{Values: map[string]any{}}, false, nil)
	want := map[string]any{"name": "ann", "roles": []any{"dev"}, "team": "ops"}
	if err != nil || !value.Equal(environment.Principal, want) || !value.Equal(environment.Scope, map[string]any{"who": "ann", "team": "ops"}) {
		t.Errorf("principal %v, scope %v, %v", environment.Principal, environment.Scope, err)
	}
}

// A refuse check that holds or cannot be evaluated refuses before the executor
// is asked.
func TestRefuse(t *testing.T) {
	f := newFixture(t)
	compiled, problems := f.compile(t, func(doc *document.Tool) {
		doc.Args = document.Arguments{{Name: "n", Schema: []byte(`{"type": "integer"}`)}}
		doc.Refuse = []document.Refuse{{ID: "odd", When: "100 / args.n == 7", Message: "odd"}}
	})
	if compiled == nil {
		t.Fatal(problems)
	}
	for arguments, refused := range map[string]bool{`{"n": 3}`: false, `{"n": 0}`: true} {
		f.kind.input = executor.Input{}
		decoded, err := compiled.Decode(request(arguments), f.roots)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = compiled.Prepare(context.Background(), request(arguments), decoded, false, nil)
		var because *tool.RefusedError
		if errors.As(err, &because) != refused || refused != (f.kind.input.Arguments == nil) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// Mistakes that need the whole document to be seen.
func TestMistakes(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		change func(*document.Tool)
		code   string
	}{
		"risk":            {func(doc *document.Tool) { doc.Risk = "harmless" }, "unknown-risk"},
		"no executor":     {func(doc *document.Tool) { doc.Command = nil }, "no-executor"},
		"facts in refuse": {func(doc *document.Tool) { doc.Refuse = []document.Refuse{{ID: "r", When: "facts.x == 1"}} }, ""},
		"scope of a list": {func(doc *document.Tool) { doc.Scope = map[string]string{"r": "${principal.roles}"} }, "scope-type"},
		"absent lock":     {func(doc *document.Tool) { doc.Args, doc.Locks = optional(), []string{"${args.x}"} }, "optional-slot"},
		"unknown slot":    {func(doc *document.Tool) { doc.Scope = map[string]string{"r": "${args.nope}"} }, "unknown-slot"},
		"invalid example": {func(doc *document.Tool) { doc.Examples = []document.Example{{Args: []byte(`{"x": 1}`)}} }, "invalid-example"},
		"refuse unguarded": {func(doc *document.Tool) {
			doc.Args, doc.Refuse = optional(), []document.Refuse{{ID: "r", When: "args.x == 'a'"}}
		}, "optional-field"},
	} {
		compiled, problems := f.compile(t, c.change)
		found := false
		for _, problem := range problems {
			found = found || problem.Code == c.code || c.code == ""
		}
		if compiled != nil || !found {
			t.Errorf("%s: %v", name, problems)
		}
	}
	anywhere, problems := f.compile(t, func(doc *document.Tool) {
		doc.Args = document.Arguments{{Name: "p", Schema: []byte(`{"type": "array", "items": {"type": "string", "format": "path", "under": ["work", "anywhere"]}}`)}}
	})
	if anywhere == nil || anywhere.Floor != call.Mutating {
		t.Errorf("a path of anywhere has the floor of %+v, %v", anywhere, problems)
	}
}

func optional() document.Arguments {
	return document.Arguments{{Name: "x", Optional: true, Schema: []byte(`{"type": "string", "optional": true}`)}}
}
