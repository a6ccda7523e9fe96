//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/value"
)

// vault is a set of secrets; every tool may use all but "other".
type vault map[string]string

func (v vault) Declared(name, _, _ string) (exists, allowed bool) {
	_, exists = v[name]
	return exists, name != "other"
}

func (v vault) Value(name string) (string, error) {
	if v[name] == "" {
		return "", fmt.Errorf("secret %q has no value", name)
	}
	return v[name], nil
}

func (v vault) Redact(text string) string { return text }

func (v vault) Stream() executor.Stream { return masker{} }

func (v vault) Digest(name string) (string, error) {
	text, err := v.Value(name)
	return fmt.Sprintf("digest-%d", len(text)), err
}

type guard string

func (g guard) Protected(path string) bool { return strings.HasPrefix(path, string(g)) }

// argumentTypes are the arguments of all tools of these tests.
func argumentTypes() value.Type {
	text := value.Of(value.String)
	optional := func(f value.Field) value.Field { f.Optional = true; return f }
	return value.Struct(map[string]value.Field{
		"s": text, "o": optional(text), "n": value.Of(value.Integer), "b": optional(value.Of(value.Boolean)),
		"l": value.ListOf(value.String), "ol": optional(value.ListOf(value.String)), "ll": value.ListOf(value.List),
		"p":    {Type: value.Type{Kind: value.String, Format: "path"}},
		"m":    {Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.String}}, Optional: true},
		"obj":  {Type: value.Struct(map[string]value.Field{"x": text})},
		"any":  {},
		"mode": {Type: value.Type{Kind: value.String, Enum: []any{"fast", "small"}}, Optional: true},
	})
}

func testKind() *kind {
	return New(Options{Env: os.LookupEnv, Key: []byte("key")}).(*kind)
}

func declaration(t testing.TB, block string) executor.Declaration {
	t.Helper()
	tool := &document.Tool{Header: document.Header{Name: "x"}}
	for _, name := range []string{"s", "o", "n", "b", "l", "ol", "p", "m", "obj", "any", "mode"} {
		tool.Args = append(tool.Args, document.Argument{Name: name})
	}
	if err := json.Unmarshal([]byte(block), &tool.Command); err != nil {
		t.Fatalf("%s: %v", block, err)
	}
	return executor.Declaration{
		Tool: tool, Arguments: argumentTypes(), Leading: map[string][]string{"o": {"-"}},
		Secrets: vault{"key": "s3cr3t-value", "other": "x", "gone": ""}, Guard: guard("/protected"),
	}
}

func compileBlock(t testing.TB, block string) executor.Executor {
	t.Helper()
	compiled, mistakes := testKind().Compile(declaration(t, block))
	if len(mistakes) > 0 {
		t.Fatalf("%s: %v", block, mistakes)
	}
	return compiled
}

func prepare(t testing.TB, block string, arguments map[string]any) (call.Effect, error) {
	t.Helper()
	return compileBlock(t, block).Prepare(context.Background(), executor.Input{Arguments: arguments, Offline: true})
}

func TestArgv(t *testing.T) {
	hostile := []string{"$(touch /tmp/x)", "; rm -rf /", "a\nb", "`id`", "a b  c", "\u202eevil", "'\"", "", "é😀", "*", "~", "&& x", "${args.s}"}
	for _, text := range hostile {
		effect, err := prepare(t, `{"argv":["prog","${args.s}","x${args.s}y","${args.l}"]}`, map[string]any{"s": text, "l": []any{text, "z"}})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if want := []any{"prog", text, "x" + text + "y", text, "z"}; !value.Equal(effect.Bound["argv"], want) {
			t.Errorf("%q became %q", text, effect.Bound["argv"])
		}
	}
	for _, c := range []struct {
		block string
		args  map[string]any
		want  string
	}{
		{`{"argv":["p","-n","${args.n}","${args.l}","--"]}`, map[string]any{"n": int64(5), "l": []any{}}, "p -n 5 --"},
		{`{"argv":["p","--author=${args.s}"]}`, map[string]any{"s": "--upload-pack=x"}, "p --author=--upload-pack=x"},
		{`{"argv":["p","$${HOME}"]}`, nil, "p '${HOME}'"},
		{`{"argv":["p","${options}","end"],"options":{"o":{"flag":"-n"},"b":{"flag":"--dry-run"},"ol":{"flag":"--tag="},"m":{"flag":"--set=","join":","},"mode":{"choose":{"fast":["-O1"],"small":["-Os","--strip"]}}}}`,
			map[string]any{"o": "-x", "b": true, "ol": []any{"a", "-b"}, "m": map[string]any{"k": "1", "a": "2"}, "mode": "small"}, "p -n -x --dry-run --tag=a --tag=-b --set=a=2,k=1 -Os --strip end"},
		{`{"argv":["p","${options}"],"options":{"o":{"flag":"-n"},"b":{"flag":"-b"},"ol":{"flag":"--tag"},"m":{"flag":"-s"},"mode":{"choose":{"fast":["-O1"],"small":[]}}}}`,
			map[string]any{"b": false, "ol": []any{}, "m": map[string]any{}}, "p"},
		{`{"argv":["p","${options}"],"options":{"ol":{"flag":"-t"},"m":{"flag":"-s"},"l":{"flag":"/f:","join":";"}}}`,
			map[string]any{"ol": []any{"a", "b"}, "m": map[string]any{"k": "1", "j": "2"}, "l": []any{"x", "y"}}, "p '/f:x;y' -t a -t b -s j=2 -s k=1"},
		{`{"argv":["p","${args.obj.x}"]}`, map[string]any{"obj": map[string]any{"x": "y"}}, "p y"},
	} {
		effect, err := prepare(t, c.block, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.block, err)
			continue
		}
		var words []string
		for _, word := range effect.Bound["argv"].([]any) {
			words = append(words, word.(string))
		}
		if got := quote(words); got != c.want {
			t.Errorf("%s: got %s, want %s", c.block, got, c.want)
		}
		if !slices.Contains(effect.Unresolved, "p") || !strings.HasPrefix(effect.Preview, c.want+"\n") {
			t.Errorf("unresolved %v, preview %q", effect.Unresolved, effect.Preview)
		}
	}
}

// TestPreviewHasNoLineOfACaller: a word cannot pass for a line of its own.
func TestPreviewHasNoLineOfACaller(t *testing.T) {
	effect, err := prepare(t, `{"argv":["p","${args.s}","-${args.n}"],"env":{"A":"${args.s}"}}`, map[string]any{"s": "it's\nin /safe \"\u202ex\u2028", "n": int64(3)})
	if err != nil {
		t.Fatal(err)
	}
	const word = `$'it\'s\nin /safe \"\u202ex\u2028'`
	if !strings.HasPrefix(effect.Preview, "p "+word+" -3\nin /\n") || !strings.Contains(effect.Preview, "with A="+word+"\n") {
		t.Errorf("%q", effect.Preview)
	}
}

func TestArgvRefused(t *testing.T) {
	for _, c := range []struct {
		block string
		args  map[string]any
	}{
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "--upload-pack=touch"}},
		{`{"argv":["p","--","${args.s}"]}`, map[string]any{"s": "-x"}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "@file"}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "+x"}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "ext::sh -c id"}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "fd::17"}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "FILE:///etc/passwd"}},
		{`{"argv":["p","${args.s}/x"]}`, map[string]any{"s": "-C"}},
		{`{"argv":["p","${args.s}${args.obj.x}"]}`, map[string]any{"s": "", "obj": map[string]any{"x": "-x"}}},
		{`{"argv":["p","${args.n}"]}`, map[string]any{"n": int64(-5)}},
		{`{"argv":["p","${args.l}"]}`, map[string]any{"l": []any{"ok", "-rf"}}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{"s": "a\x00b"}},
		{`{"argv":["p","x=${args.s}"]}`, map[string]any{"s": strings.Repeat("x", MaxItemBytes)}},
		{`{"argv":["p","${args.s}"]}`, map[string]any{}},
		{`{"argv":["p","${options}"],"options":{"o":{"flag":"-n"}}}`, map[string]any{"o": "@x"}},
		{`{"argv":["p","${options}"],"options":{"s":{"flag":"-n"}}}`, map[string]any{"s": "-x"}},
		{`{"argv":["p","${options}"],"options":{"l":{"flag":"-n","join":","}}}`, map[string]any{"l": []any{"a,b"}}},
		{`{"argv":["p","${options}"],"options":{"m":{"flag":"--s=","join":","}}}`, map[string]any{"m": map[string]any{"a": "1,b=2"}}},
		{`{"argv":["p","${options}"],"options":{"m":{"flag":"--s="}}}`, map[string]any{"m": map[string]any{"a=b": "1"}}},
		{`{"argv":["p","${options}"],"options":{"m":{"flag":"-s"}}}`, map[string]any{"m": map[string]any{"-x": "1"}}},
		{`{"argv":["p"],"env":{"A":"${args.s}"}}`, map[string]any{"s": "a\x00"}},
		{`{"argv":["p"],"cwd":"${args.p}/x"}`, map[string]any{"p": "/a/.."}},
		{`{"argv":["p"],"cwd":"${args.p}"}`, map[string]any{"p": "/protected/x"}},
	} {
		if effect, err := prepare(t, c.block, c.args); err == nil {
			t.Errorf("%s with %q was prepared: %q", c.block, c.args, effect.Bound["argv"])
		}
	}
}

func TestCompileMistakes(t *testing.T) {
	for _, c := range []struct{ block, code string }{
		{`{"argv":[]}`, "argv-empty"},
		{`{"argv":["${args.s}"]}`, "program-slot"},
		{`{"argv":["./run"]}`, "relative-program"},
		{`{"argv":["bin/run"]}`, "relative-program"},
		{`{"argv":["bash","deploy.sh"]}`, "relative-script"},
		{`{"argv":["python3.12","-u","tools/x.py"]}`, "relative-script"},
		{`{"argv":["/usr/bin/env","-S","A=1","node","server"]}`, "relative-script"},
		{`{"argv":["env","${args.s}"]}`, "program-slot"},
		{`{"argv":["sh","-c","echo ${args.s}"]}`, "slot-in-code"},
		{`{"argv":["bash","-euc","${args.s}"]}`, "slot-in-code"},
		{`{"argv":["perl","-e","${args.s}"]}`, "slot-in-code"},
		{`{"argv":["python3","-c${args.s}"]}`, "slot-in-code"},
		{`{"argv":["python3","-Icprint(${args.s})"]}`, "slot-in-code"},
		{`{"argv":["node","--eval=${args.s}"]}`, "slot-in-code"},
		{`{"argv":["timeout","5","bash","-lc","echo ${args.s}"]}`, "slot-in-code"},
		{`{"argv":["busybox","sh","-c","echo ${args.s}"]}`, "slot-in-code"},
		{`{"argv":["env","A=1","nice","sh","-e","-c","echo ${args.s}"]}`, "slot-in-code"},
		{`{"argv":["p","-${args.s}"]}`, "option-slot"},
		{`{"argv":["p","--${args.s}=1"]}`, "option-slot"},
		{`{"argv":["p","${args.o}"]}`, "optional-slot"},
		{`{"argv":["p","x${args.o}"]}`, "optional-slot"},
		{`{"argv":["p","x${args.l}"]}`, "slot-type"},
		{`{"argv":["p","${args.obj}"]}`, "argv-type"},
		{`{"argv":["p","${args.any}"]}`, "argv-type"},
		{`{"argv":["p","${args.ll}"]}`, "argv-type"},
		{`{"argv":["p","${args.nope}"]}`, "unknown-slot"},
		{`{"argv":["p","${secrets.key}"]}`, "secret-shown"},
		{`{"argv":["p"],"cwd":"/${secrets.key}"}`, "secret-shown"},
		{`{"argv":["p"],"env":{"A":"${secrets.nope}"}}`, "unknown-secret"},
		{`{"argv":["p"],"env":{"A":"${secrets.other}"}}`, "secret-not-for"},
		{`{"argv":["p"],"stdin":"${secrets.other}"}`, "secret-not-for"},
		{`{"argv":["p"],"stdin_json":{"a":"${secrets.other}"}}`, "secret-not-for"},
		{`{"argv":["p","${options}"]}`, "options-slot"},
		{`{"argv":["p","x${options}"],"options":{"o":{"flag":"-n"}}}`, "options-slot"},
		{`{"argv":["p"],"options":{"o":{"flag":"-n"}}}`, "options-slot"},
		{`{"argv":["p","${options}","${options}"],"options":{"o":{"flag":"-n"}}}`, "options-slot"},
		{`{"argv":["p","${options}"],"options":{"nope":{"flag":"-n"}}}`, "unknown-argument"},
		{`{"argv":["p","${options}"],"options":{"o":{}}}`, "option-form"},
		{`{"argv":["p","${options}"],"options":{"o":{"flag":"-n","choose":{}}}}`, "option-form"},
		{`{"argv":["p","${options}"],"options":{"o":{"flag":"--${args.s}"}}}`, "option-form"},
		{`{"argv":["p","${options}"],"options":{"obj":{"flag":"-n"}}}`, "option-type"},
		{`{"argv":["p","${options}"],"options":{"any":{"flag":"-n"}}}`, "option-type"},
		{`{"argv":["p","${options}"],"options":{"o":{"flag":"-n","join":","}}}`, "option-join"},
		{`{"argv":["p","${options}"],"options":{"b":{"flag":"--b="}}}`, "option-flag"},
		{`{"argv":["p","${options}"],"options":{"mode":{"choose":{"fast":["-f"]}}}}`, "option-choose"},
		{`{"argv":["p","${options}"],"options":{"mode":{"choose":{"fast":[],"small":[],"other":[]}}}}`, "option-choose"},
		{`{"argv":["p","${options}"],"options":{"mode":{"choose":{"fast":["${args.s}"],"small":[]}}}}`, "option-choose"},
		{`{"argv":["p","${options}"],"options":{"o":{"choose":{"a":[]}}}}`, "option-choose"},
		{`{"argv":["p"],"cwd":"sub"}`, "relative-cwd"},
		{`{"argv":["p"],"cwd":"${args.s}"}`, "cwd-slot"},
		{`{"argv":["p"],"stdin":"a","stdin_json":{}}`, "two-stdin"},
		{`{"argv":["p"],"env":{"A=B":"x"}}`, "env-name"},
		{`{"argv":["p"],"env":{"LD_PRELOAD":"${args.s}"}}`, "env-code"},
		{`{"argv":["p"],"env":{"A":"${args.l}"}}`, "env-type"},
		{`{"argv":["p"],"inherit_env":["A B"]}`, "env-name"},
		{`{"argv":["p"],"success_codes":[]}`, "success-codes"},
		{`{"argv":["p"],"success_codes":[300]}`, "success-codes"},
		{`{"argv":["bash","-c","echo \"$1\"","--","${args.s}"]}`, ""},
		{`{"argv":["python3","-m","http.server"]}`, ""},
		{`{"argv":["python3","/opt/x.py","data.py"]}`, ""},
		{`{"argv":["/bin/p","a/b","./c"],"cwd":"${args.p}/sub","env":{"A":"${args.o}","LD_LIBRARY_PATH":"/x"},"success_codes":[0,1]}`, ""},
	} {
		_, mistakes := testKind().Compile(declaration(t, c.block))
		codes := map[string]bool{}
		for _, m := range mistakes {
			codes[m.Code] = true
		}
		if c.code == "" && len(mistakes) > 0 || c.code != "" && !codes[c.code] {
			t.Errorf("%s: %v, want %q", c.block, mistakes, c.code)
		}
	}
}

func TestBound(t *testing.T) {
	block := `{"argv":["p"],"env":{"TOKEN":"Bearer ${secrets.key}","OPT":"${args.o}"},"stdin_json":{"k":"${secrets.key}","n":"${args.n}","gone":"${args.o}"}}`
	effect, err := prepare(t, block, map[string]any{"n": int64(3)})
	if err != nil {
		t.Fatal(err)
	}
	env := effect.Bound["env"].(map[string]any)
	if env["TOKEN"] != "Bearer [secret key digest-12]" || effect.Bound["stdin"] != `{"k":"[secret key digest-12]","n":3}`+"\n" {
		t.Errorf("bound %v", effect.Bound)
	}
	if _, there := env["OPT"]; there {
		t.Error("an absent value is in the environment")
	}
	if all := string(value.JSON(effect.Bound)) + effect.Preview + fmt.Sprintf("%+v", effect.Pinned); strings.Contains(all, "s3cr3t") {
		t.Error("the secret is in the effect")
	}
	if !strings.Contains(effect.Preview, `with TOKEN='Bearer [secret key digest-12]'`) || !strings.Contains(effect.Preview, `"n":3`) {
		t.Errorf("preview %q", effect.Preview)
	}
	other, err := prepare(t, block, map[string]any{"n": int64(4)})
	if err != nil || other.Digest() == effect.Digest() {
		t.Errorf("standard input is not bound, %v", err)
	}
}

func TestMissingSecret(t *testing.T) {
	block := `{"argv":["true"],"env":{"A":"${secrets.gone}"}}`
	if effect, err := prepare(t, block, nil); err != nil || !slices.Contains(effect.Unresolved, "secret gone") {
		t.Errorf("offline: %v, %v", effect.Unresolved, err)
	}
	if _, err := compileBlock(t, block).Prepare(context.Background(), executor.Input{}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "prog")
	if err := os.WriteFile(path, []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "data"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for _, c := range []struct {
		search, name string
		guarded      guard
		ok           bool
	}{
		{folder, "prog", "/protected", true}, {"relative:.::" + folder, "prog", "/protected", true}, {".:", "prog", "/protected", false},
		{"", "prog", "/protected", false}, {folder, "data", "/protected", false}, {folder, "nope", "/protected", false},
		{"", path, "/protected", true}, {folder, "prog", guard(folder), false}, {filepath.Dir(folder), filepath.Base(folder), "/protected", false},
	} {
		k := New(Options{Env: func(name string) (string, bool) { return c.search, name == "PATH" }}).(*kind)
		p, err := (&command{kind: k, guard: c.guarded}).find(c.name)
		if (err == nil) != c.ok || c.ok && p.path != path {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
		if err != nil && c.name != path && strings.Contains(err.Error(), folder) {
			t.Errorf("the error names a host path: %v", err)
		}
	}
}

func TestProgramIsBound(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "prog")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho one\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	compiled := compileBlock(t, `{"argv":["`+path+`"]}`)
	first, err := compiled.Prepare(context.Background(), executor.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Bound["program"].(map[string]any)["path"]; got != path || len(first.Unresolved) > 0 {
		t.Errorf("bound %v", first.Bound)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho two!\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	second, err := compiled.Prepare(context.Background(), executor.Input{Previous: &first})
	if err != nil || first.Digest() == second.Digest() {
		t.Errorf("another program is the same effect, %v", err)
	}
	if got := compiled.Execute(context.Background(), first, executor.Run{}); got.Status != call.Failed || !strings.Contains(got.Reason, "changed") {
		t.Errorf("the changed program was started: %+v", got)
	}
	if got := compiled.Execute(context.Background(), call.Effect{}, executor.Run{}); got.Status != call.Failed {
		t.Errorf("an effect of nobody was executed: %+v", got)
	}
	if _, err := compileBlock(t, `{"argv":["`+path+`"],"cwd":"`+folder+`/none"}`).Prepare(context.Background(), executor.Input{}); err == nil {
		t.Error("a folder that is not there was accepted")
	}
}

// FuzzArgv checks that a value is one argument, exactly as it was given, and
// that it begins none that a program could take for more.
func FuzzArgv(f *testing.F) {
	for _, seed := range []string{"a b", "-x", "@f", "ext::sh", "file:x", "\x00", "", "é", "x::y"} {
		f.Add(seed, "b")
	}
	compiled := compileBlock(f, `{"argv":["p","${args.s}","a=${args.s}","${args.s}${args.obj.x}","${args.l}","${options}"],"options":{"m":{"flag":"--m"},"o":{"flag":"--o="}}}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		arguments := map[string]any{"s": one, "o": two, "obj": map[string]any{"x": two}, "l": []any{two, one}, "m": map[string]any{two: one}}
		effect, err := compiled.Prepare(context.Background(), executor.Input{Arguments: arguments, Offline: true})
		if err != nil {
			return
		}
		argv := effect.Bound["argv"].([]any)
		want := []any{"p", one, "a=" + one, one + two, two, one, "--o=" + two, "--m", two + "=" + one}
		if len(argv) != len(want) || !value.Equal(argv, want) {
			t.Fatalf("%q and %q became %q", one, two, argv)
		}
		for _, i := range []int{1, 3, 4, 5, 8} {
			if word := argv[i].(string); risky(word) != "" {
				t.Fatalf("%q begins with %q", word, risky(word))
			}
		}
		if strings.Contains(one+two, "\x00") {
			t.Fatal("a NUL was accepted")
		}
	})
}
