package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

func declare(name, env, file string, uses ...string) *document.Secret {
	return &document.Secret{
		Header: document.Header{Name: name, Source: document.NewSource(diag.Position{File: "/conf/tools.d/a.yaml", Line: 3}, "", nil)},
		Env:    env, File: file, For: document.SecretFor{Tools: uses, Connections: []string{"hub"}},
	}
}

func options(env map[string]string, files map[string]fs.FileMode) Options {
	return Options{
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string) ([]byte, fs.FileMode, error) {
			mode, ok := files[path]
			if !ok {
				return nil, 0, fs.ErrNotExist
			}
			return []byte("from-" + filepath.Base(path) + "\n"), mode, nil
		},
		Key: []byte("key"),
	}
}

func TestValues(t *testing.T) {
	env := map[string]string{"TOKEN": "tok-12345", "EMPTY": "", "SHORT": "abc", "NUL": "abc\x00def", "LONG": strings.Repeat("x", MaxBytes+1)}
	files := map[string]fs.FileMode{"/conf/tools.d/key": 0o600, "/run/abs": 0o440, "/conf/tools.d/open": 0o644, "/conf/tools.d/write": 0o620}
	for _, c := range []struct {
		document             *document.Secret
		value, missing, code string
	}{
		{declare("a", "TOKEN", "", "x"), "tok-12345", "", ""},
		{declare("a", "NONE", "", "x"), "", "NONE is not set", ""},
		{declare("a", "EMPTY", "", "x"), "", "EMPTY is not set", ""},
		{declare("a", "SHORT", "", "x"), "", "refused", "secret-value"},
		{declare("a", "NUL", "", "x"), "", "refused", "secret-value"},
		{declare("a", "LONG", "", "x"), "", "refused", "secret-value"},
		{declare("a", "", "key", "x"), "from-key", "", ""},
		{declare("a", "", "/run/abs", "x"), "from-abs", "", ""},
		{declare("a", "", "gone", "x"), "", "not there", ""},
		{declare("a", "", "open", "x"), "", "by others", "secret-mode"},
		{declare("a", "", "write", "x"), "", "by others", "secret-mode"},
		{declare("a", "TOKEN", "key", "x"), "", "refused", "secret-source"},
		{declare("a", "", "", "x"), "", "refused", "secret-source"},
	} {
		vault, mistakes := New([]*document.Secret{c.document}, options(env, files))
		got, err := vault.Value("a")
		if got != c.value || (err != nil) != (c.value == "") {
			t.Errorf("%+v: value %q, %v; want %q", c.document, got, err, c.value)
		}
		if err != nil && !errors.Is(err, ErrMissing) {
			t.Errorf("%+v: error %v does not wrap ErrMissing", c.document, err)
		}
		if missing := vault.Missing("a"); !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") {
			t.Errorf("%+v: missing %q, want %q", c.document, missing, c.missing)
		}
		code := ""
		if len(mistakes) > 0 {
			code = mistakes[0].Code
		}
		if code != c.code {
			t.Errorf("%+v: diagnostics %v, want code %q", c.document, mistakes, c.code)
		}
	}
}

func TestWhoMayUse(t *testing.T) {
	vault, _ := New([]*document.Secret{declare("a", "TOKEN", "", "deploy")}, options(map[string]string{"TOKEN": "tok-12345"}, nil))
	for _, c := range []struct {
		name, tool, connection string
		exists, allowed        bool
	}{
		{"a", "deploy", "", true, true}, {"a", "other", "", true, false}, {"a", "", "hub", true, true},
		{"a", "other", "hub", true, true}, {"a", "", "", true, false}, {"b", "deploy", "hub", false, false},
	} {
		if exists, allowed := vault.Declared(c.name, c.tool, c.connection); exists != c.exists || allowed != c.allowed {
			t.Errorf("%+v: got %v %v", c, exists, allowed)
		}
	}
	nobody := declare("n", "TOKEN", "")
	nobody.For = document.SecretFor{}
	if _, mistakes := New([]*document.Secret{nobody}, options(nil, nil)); !mistakes.HasErrors() {
		t.Error("a secret for nobody was accepted")
	}
}

func TestDigest(t *testing.T) {
	digest := func(text, key string) string {
		o := options(map[string]string{"A": text}, nil)
		o.Key = []byte(key)
		vault, _ := New([]*document.Secret{declare("a", "A", ""), declare("b", "A", "")}, o)
		d, err := vault.Digest("a")
		if other, _ := vault.Digest("b"); err != nil || other == d {
			t.Errorf("digests %q and %q of two secrets, %v", d, other, err)
		}
		return d
	}
	first, again := digest("one-value", "k"), digest("one-value", "k")
	if first != again || first == digest("two-value", "k") || first == digest("one-value", "l") {
		t.Error("a digest must depend on value and key, and on nothing else")
	}
}

func TestOpaqueNeverPrints(t *testing.T) {
	vault, _ := New([]*document.Secret{declare("a", "A", "", "x")}, options(map[string]string{"A": "hunter-two"}, nil))
	v, ok := vault.Opaque("a")
	if !ok || v.Reveal() != "hunter-two" {
		t.Fatalf("reveal %q", v.Reveal())
	}
	encoded, err := json.Marshal(map[string]any{"v": v, "p": &v})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", v, "vault", vault)
	holder := struct{ private Value }{v}
	for _, text := range []string{string(encoded), log.String(), fmt.Sprint(v, &v), fmt.Sprintf("%#v %+v %s %q %x", v, v, v, v, v), fmt.Sprintf("%#v %+v", holder, holder), fmt.Sprintf("%#v", v)} {
		if strings.Contains(text, "hunter-two") || strings.Contains(text, "68756e746572") {
			t.Errorf("the value is printed: %s", text)
		}
	}
	if got := fmt.Sprint(v); got != "[redacted a]" {
		t.Errorf("printed as %q", got)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, mode, err := ReadFile(path); string(data) != "value" || mode.Perm() != 0o600 || err != nil {
		t.Errorf("read %q %v %v", data, mode, err)
	}
	if _, _, err := ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
	if err := os.WriteFile(path, make([]byte, MaxBytes+3), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(path); !errors.Is(err, errTooLong) {
		t.Errorf("a large file gave %v", err)
	}
}
