package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const secretText = "kind: Secret\nname: %s\nenv: A\nfor: {tools: [x]}\n"

func TestUnchangedFilesGiveTheSameDocuments(t *testing.T) {
	for name, now := range map[string]func() time.Time{
		"by content": nil,
		"by stat":    func() time.Time { return time.Now().Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, l := t.TempDir(), newLoader(t)
			for _, name := range []string{"a", "b"} {
				write(t, filepath.Join(dir, name+".yaml"), fmt.Sprintf(secretText, name))
			}
			options := Options{Paths: []string{dir}, Trusted: true, Now: now}
			first := l.Load(context.Background(), options)
			options.Previous = first.Cache
			second := l.Load(context.Background(), options)
			if !second.Unchanged || second.Set != first.Set || second.Documents != 2 {
				t.Fatalf("unchanged: %t, %d documents", second.Unchanged, second.Documents)
			}
			write(t, filepath.Join(dir, "b.yaml"), fmt.Sprintf(secretText, "c"))
			options.Previous = second.Cache
			third := l.Load(context.Background(), options)
			if third.Unchanged || third.Set.Secrets[0] != first.Set.Secrets[0] || third.Set.Secrets[1].Name != "c" {
				t.Errorf("the file that did not change was read again, or the other was not: %v", third.Set.Secrets)
			}
			if files := third.Cache.Files(); len(files) != 2 || files[0].Sum != first.Cache.Files()[0].Sum || files[1].Sum == first.Cache.Files()[1].Sum {
				t.Errorf("files: %v", files)
			}
		})
	}
}

// TestFreshDatesTellNothing: a second change may fall on the tick of the first.
func TestFreshDatesTellNothing(t *testing.T) {
	dir, l := t.TempDir(), newLoader(t)
	path := filepath.Join(dir, "a.yaml")
	write(t, path, fmt.Sprintf(secretText, "a"))
	options := Options{Paths: []string{dir}, Trusted: true, Now: time.Now}
	options.Previous = l.Load(context.Background(), options).Cache
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, fmt.Sprintf(secretText, "b"))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if r := l.Load(context.Background(), options); r.Set.Secrets[0].Name != "b" {
		t.Errorf("got %s", r.Set.Secrets[0].Name)
	}
}

func TestMistakesAreRemembered(t *testing.T) {
	dir, l := t.TempDir(), newLoader(t)
	write(t, filepath.Join(dir, "a.yaml"), "kind: Secrt\n")
	options := Options{Paths: []string{dir}, Trusted: true}
	first := l.Load(context.Background(), options)
	options.Previous = first.Cache
	if second := l.Load(context.Background(), options); len(second.Problems) != 1 || second.Problems[0].Message != first.Problems[0].Message {
		t.Errorf("got %v", second.Problems)
	}
}

// TestMissingFolderIsNeverUnchanged: a folder that went away is an error, also
// when everything else is as before.
func TestMissingFolderIsNeverUnchanged(t *testing.T) {
	dir, l := t.TempDir(), newLoader(t)
	write(t, filepath.Join(dir, "a", "a.yaml"), fmt.Sprintf(secretText, "a"))
	options := Options{Paths: []string{filepath.Join(dir, "a")}, Trusted: true}
	options.Previous = l.Load(context.Background(), options).Cache
	options.Paths = append(options.Paths, filepath.Join(dir, "gone"))
	if r := l.Load(context.Background(), options); r.Unchanged || !r.Problems.HasErrors() {
		t.Errorf("unchanged: %t, problems: %v", r.Unchanged, r.Problems)
	}
	if err := os.Remove(filepath.Join(dir, "a", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	options.Paths = options.Paths[:1]
	if r := l.Load(context.Background(), options); !r.Problems.HasErrors() {
		t.Error("an empty folder is accepted")
	}
}

func TestLinks(t *testing.T) {
	dir, l := t.TempDir(), newLoader(t)
	write(t, filepath.Join(dir, "real", "a.yaml"), fmt.Sprintf(secretText, "a"))
	write(t, filepath.Join(dir, "conf", "..2026", "b.yaml"), fmt.Sprintf(secretText, "b"))
	for link, target := range map[string]string{
		"conf/..data": "..2026", "conf/b.yaml": "..data/b.yaml", "conf/loop": "../conf", "conf/again.yaml": "b.yaml", "conf/linked": "../real",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("this system has no links: %v", err)
		}
	}
	r := l.Load(context.Background(), Options{Paths: []string{filepath.Join(dir, "conf"), filepath.Join(dir, "real")}, Trusted: true})
	if len(r.Problems) > 0 || len(r.Set.Secrets) != 2 {
		t.Fatalf("%d documents, %v", len(r.Set.Secrets), r.Problems)
	}
	// A swap of ..data, as Kubernetes does it, is seen.
	write(t, filepath.Join(dir, "conf", "..2027", "b.yaml"), fmt.Sprintf(secretText, "c"))
	if err := os.Symlink("..2027", filepath.Join(dir, "conf", "..new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "conf", "..new"), filepath.Join(dir, "conf", "..data")); err != nil {
		t.Fatal(err)
	}
	r = l.Load(context.Background(), Options{Paths: []string{filepath.Join(dir, "conf")}, Trusted: true, Previous: r.Cache})
	if len(r.Set.Secrets) != 2 || r.Set.Secrets[1].Name != "c" {
		t.Errorf("got %v, %v", r.Set.Secrets, r.Problems)
	}
}

func TestStopped(t *testing.T) {
	dir, l := t.TempDir(), newLoader(t)
	write(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(secretText, "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := l.Load(ctx, Options{Paths: []string{dir}, Trusted: true}); !r.Problems.HasErrors() || r.Set == nil {
		t.Errorf("problems: %v", r.Problems)
	}
}

func TestBounds(t *testing.T) {
	deep := "kind: Tool\nargs: " + repeat("[", 100) + repeat("]", 100)
	many := "[" + repeat("1,", MaxValues+1) + "1]"
	for name, text := range map[string]string{
		"deep.yaml": deep, "many.json": many, "deep.json": repeat("[", 100) + repeat("]", 100),
		"large.yaml": "# " + repeat("x", MaxFile), "deep.cue": repeat("a: ", 200) + "1",
	} {
		r := loadText(t, name, text)
		found := false
		for _, d := range r.Problems {
			found = found || d.Code == "too-large"
		}
		if !found || len(r.Problems) > 5 {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

func repeat(text string, n int) string {
	out := make([]byte, 0, len(text)*n)
	for range n {
		out = append(out, text...)
	}
	return string(out)
}

// BenchmarkLoad reads 1,000 tools cold, then with one changed file.
func BenchmarkLoad(b *testing.B) {
	dir, l := b.TempDir(), newLoader(b)
	for i := range 1000 {
		write(b, filepath.Join(dir, fmt.Sprintf("t%d.yaml", i)), fmt.Sprintf(benchTool, i))
	}
	options := Options{Paths: []string{dir}, Trusted: true}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if r := l.Load(context.Background(), options); len(r.Set.Tools) != 1000 {
				b.Fatal(r.Problems)
			}
		}
	})
	b.Run("yaml alone", func(b *testing.B) {
		for b.Loop() {
			for i := range 1000 {
				var parsed yaml.Node
				if err := yaml.Unmarshal([]byte(fmt.Sprintf(benchTool, i)), &parsed); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("one changed", func(b *testing.B) {
		later := time.Now().Add(time.Hour)
		options.Now = func() time.Time { return later }
		options.Previous = l.Load(context.Background(), options).Cache
		for i := 0; b.Loop(); i++ {
			write(b, filepath.Join(dir, "t5.yaml"), fmt.Sprintf(benchTool, 5)+fmt.Sprintf("# %d\n", i))
			r := l.Load(context.Background(), options)
			if len(r.Set.Tools) != 1000 {
				b.Fatal(r.Problems)
			}
			options.Previous = r.Cache
		}
	})
}

const benchTool = `kind: Tool
name: tool_%d
title: Show commit history
description: |
  Lists recent commits of a repository.
group: git
labels: {team: ops, tier: one}
args:
  repo:
    type: string
    format: path
    under: [repos]
    description: Repository folder
  limit:
    type: integer
    minimum: 1
    maximum: 200
    default: 20
    description: How many
  author:
    type: string
    maxLength: 100
    optional: true
    description: Only this author
risk: read_only
scope: {repo: "${args.repo}"}
command:
  argv: [git, -C, "${args.repo}", log, "--max-count=${args.limit}", --oneline, "${options}"]
  options:
    author: {flag: --author=}
timeout: 10s
output: {as: text, max_bytes: 64KiB}
`
