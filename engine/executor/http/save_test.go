package httpcall_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/value"
)

func saveInput(root, url string) executor.Input {
	return executor.Input{
		Arguments: map[string]any{"url": url, "path": filepath.Join(root, "a.bin")},
		Paths:     map[string]executor.Resource{"/path": {Root: "work", RootPath: root, Relative: "a.bin"}},
	}
}

func TestSave(t *testing.T) {
	var calls int
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "the content")
	})
	root := t.TempDir()
	file := filepath.Join(root, "a.bin")
	b := newBench(document.HTTP{URL: "${args.url}", Save: "${args.path}", Allow: []string{"loopback"}, MaxBytes: "${args.n}"})
	e := b.must(t)
	in := saveInput(root, at(server, "here.example.com")+"/x")
	in.Arguments["n"] = int64(11)
	effect, err := e.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatal("prepare wrote the file")
	}
	for _, part := range []string{"here.example.com", "11 bytes, sha256 ", "save to work:a.bin, a new file"} {
		if !strings.Contains(effect.Preview, part) {
			t.Fatalf("preview %q lacks %q", effect.Preview, part)
		}
	}
	if !value.Equal(effect.Facts, map[string]any{"bytes": int64(11)}) {
		t.Fatalf("facts %v", effect.Facts)
	}
	in.Previous = &effect
	again, err := e.Prepare(t.Context(), in)
	if err != nil || again.Digest() != effect.Digest() || calls != 1 {
		t.Fatalf("prepared again: %v after %d calls", err, calls)
	}
	if got := e.Execute(t.Context(), again, executor.Run{}); got.Status != call.Complete {
		t.Fatalf("%s: %s", got.Status, got.Reason)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "the content" {
		t.Fatalf("file holds %q, %v", content, err)
	}
	again, err = e.Prepare(t.Context(), in)
	if err != nil || again.Digest() == effect.Digest() || !strings.Contains(again.Preview, "replacing a file of 11 bytes") {
		t.Fatalf("a file that appeared changes nothing: %v, %s", err, again.Preview)
	}
	if got := e.Execute(t.Context(), effect, executor.Run{}); got.Status != call.Failed || !strings.Contains(got.Reason, "changed") {
		t.Fatalf("%s: %s", got.Status, got.Reason)
	}
}

func TestSaveRefuses(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "the content")
	})
	root := t.TempDir()
	b := newBench(document.HTTP{URL: "${args.url}", Save: "${args.path}", Allow: []string{"loopback"}, MaxBytes: "${args.n}"})
	for name, n := range map[string]int64{"none": 100, "large": 10} {
		in := saveInput(root, at(server, "here.example.com")+"/"+name)
		in.Arguments["n"] = n
		if effect, err := b.must(t).Prepare(t.Context(), in); err == nil {
			t.Errorf("%s was prepared: %s", name, effect.Preview)
		}
	}
	in := saveInput(root, "http://none.example.com/")
	in.Arguments["n"], in.Offline = int64(10), true
	effect, err := b.must(t).Prepare(t.Context(), in)
	if err != nil || len(effect.Unresolved) != 3 || effect.Facts != nil {
		t.Errorf("offline: %+v, %v", effect, err)
	}
}
