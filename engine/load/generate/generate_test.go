package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue/format"
)

// TestGeneratedFilesAreUpToDate fails when the grammar was changed without
// running go generate.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	const root = "../../.."
	kept := map[string]bool{}
	err := run(root, func(name string, data []byte, _ os.FileMode) error {
		kept[name] = true
		committed, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(committed, data) {
			t.Errorf("%s is not up to date: run go generate ./schema", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	present, err := filepath.Glob(filepath.Join(root, "schema/json/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range present {
		if !kept[name] {
			t.Errorf("%s comes from no kind", name)
		}
	}
}

// TestUnknownFormsAreRefused: what the generator cannot keep whole, it names.
func TestUnknownFormsAreRefused(t *testing.T) {
	for _, text := range []string{
		`#A: int & >=1 & >=2`, `#A: *1 | int`, `#A: {...}`, `#A: {a: 1} | {b: 2}`, `#A: net.IPv4`, `#A: >="a"`, `#A: !=1`,
		`#A: {[>"a"]: int}`, `#A: [int, string]`, `#A: strings.MinRunes(1)`, `#A: #B`, `a: 1`, `#A: "\(1)"`, `#A: float`,
	} {
		g, err := read(fstest.MapFS{"a.cue": {Data: []byte("package schema\n" + text + "\n")}})
		if err == nil {
			_, err = g.derived()
		}
		if err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestGrammarIsFormatted(t *testing.T) {
	names, err := filepath.Glob("../../../schema/*.cue")
	if err != nil || len(names) == 0 {
		t.Fatalf("no grammar: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, formatted) {
			t.Errorf("%s is not formatted as cue fmt does", name)
		}
	}
}
