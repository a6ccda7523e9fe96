package writ_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitPackWorks takes a repository from a change to a push, in a folder
// whose name has a space, a quote and a newline.
func TestGitPackWorks(t *testing.T) {
	needs(t, "git", "sh")
	s := newSite(t)
	s.config("[remote \"origin\"]\nurl=" + remoteURL)
	s.plain("git", "init", "-q", "--bare", filepath.Join(s.outside, "remote.git"))
	b := newBench(t, s.work, s.path())
	repo := func(more ...any) map[string]any {
		arguments := map[string]any{"repo": filepath.Base(s.repo)}
		for i := 0; i < len(more); i += 2 {
			arguments[more[i].(string)] = more[i+1]
		}
		return arguments
	}
	f := filepath.Join(filepath.Base(s.repo), "f.txt")

	before := s.sum()
	wants(t, b.do("git_status", repo()), "## main", "M  g.txt", " M f.txt", "?? h.txt")
	wants(t, b.do("git_log", repo()), "\tAnn\tsecond\n", "\tAnn\tfirst\n")
	if text := b.do("git_log", repo("text", "first", "paths", []string{f})).Output; strings.Contains(text, "second") {
		t.Errorf("git_log does not look for the text:\n%s", text)
	}
	wants(t, b.do("git_diff", repo()), "--- a/f.txt", "+three")
	wants(t, b.do("git_diff", repo("staged", true)), "--- a/g.txt", "-one", "+two")
	wants(t, b.do("git_diff", repo("revisions", []string{"main", "side"}, "paths", []string{f})), "-two", "+side")
	wants(t, b.do("git_diff", repo("revisions", []string{"main~1"}, "summary", true)), "2 files changed")
	wants(t, b.do("git_show", repo()), "Ann <ann@example.com>", "    second", "+two")
	wants(t, b.do("git_show", repo("revision", "main~1:f.txt")), "one\n")
	wants(t, b.do("git_blame", repo("path", f, "lines", "1,1")), "(Ann ", "1) two")
	wants(t, b.do("git_branches", repo()), "* main\t", "\tsecond\n", "  side\t", "\tsideways\n")
	wants(t, b.do("git_remotes", repo()), "remote.origin.url "+remoteURL+"\n")
	if s.sum() != before {
		t.Error("a tool that only reads changed something in the repository")
	}

	wants(t, b.do("git_add", repo("paths", []string{f, filepath.Join(filepath.Base(s.repo), "h.txt")})))
	wants(t, b.do("git_commit", repo("message", "third\n\nwith a body")), "3 files changed")
	if text := s.plain("git", "log", "-1", "--format=%an %ae%n%B"); text != "Ann ann@example.com\nthird\n\nwith a body\n\n" {
		t.Errorf("the commit is %q", text)
	}
	if result := b.do("git_commit", repo("message", "again")); result.Success || !strings.Contains(result.Output, "nothing is staged") {
		t.Errorf("an empty commit: %+v", result)
	}
	wants(t, b.do("git_push", repo("url", remoteURL, "branch", "main")))
	if pushed, head := s.plain("git", "--git-dir", filepath.Join(s.outside, "remote.git"), "rev-parse", "main"), s.plain("git", "rev-parse", "main", "origin/main"); head != pushed+pushed {
		t.Errorf("the remote has %s, the repository %s", pushed, head)
	}
	if result := b.do("git_push", repo("url", "ssh://git@example.com/elsewhere.git", "branch", "main")); result.Success || !strings.Contains(result.Output, "does not have this address") {
		t.Errorf("a push elsewhere: %+v", result)
	}
	if text := s.plain("git", "fsck", "--strict"); strings.Contains(text, "error") {
		t.Error(text)
	}
	if text := s.plain("git", "status", "--short"); text != "" {
		t.Errorf("after all that, git sees changes:\n%s", text)
	}
	if rooms, _ := filepath.Glob(filepath.Join(s.outside, "tmp.*")); rooms != nil {
		t.Errorf("rooms were left behind: %v", rooms)
	}
}

// sum is equal while nothing in .git changes.
func (s *site) sum() string {
	sum := sha256.New()
	err := filepath.WalkDir(filepath.Join(s.repo, ".git"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestGitPackKeepsToItsWord tries what a repository may be beside the usual.
func TestGitPackKeepsToItsWord(t *testing.T) {
	needs(t, "git", "sh")
	for name, c := range map[string]struct {
		make, tool string
		arguments  map[string]any
		want       string // in the output, or after "refused: "
	}{
		"first commit":      {"git init -q r && cd r && echo x >x && git add x && git config user.name A && git config user.email a@example.com", "git_commit", map[string]any{"message": "first"}, "root-commit"},
		"sha256":            {"git init -q --object-format=sha256 r && cd r && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m long", "git_log", nil, "long"},
		"line ends":         {"git init -q r && cd r && git config core.autocrlf true && printf 'a\\r\\n' >x && git add x && git -c user.name=A -c user.email=a@example.com commit -q -m x && touch x", "git_status", nil, "## "},
		"ignored by hand":   {"git init -q r && cd r && echo x >x && mkdir -p .git/info && echo x >.git/info/exclude", "git_status", nil, "No commits yet"},
		"a filter":          {"git init -q r && cd r && echo x >x && echo '* filter=lfs' >.gitattributes", "git_add", map[string]any{"paths": []string{"r/x"}}, "refused: filters are not run here"},
		"a deleted file":    {"git init -q r && cd r && echo x >x && git add x && rm x", "git_add", map[string]any{"paths": []string{"r/x"}}, ""},
		"inside .git":       {"git init -q r", "git_status", map[string]any{"repo": "r/.git"}, "refused: give the top folder"},
		"no repository":     {"mkdir r", "git_status", nil, "refused: give the top folder"},
		"a detached HEAD":   {"git init -q r && cd r && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m x && git checkout -q --detach && echo x >x && git add x", "git_commit", map[string]any{"message": "x"}, "refused: HEAD is not on a branch"},
		"option as a path":  {"git init -q r && cd r && echo x >./--force", "git_add", map[string]any{"paths": []string{"r/--force"}}, ""},
		"pattern as a path": {"git init -q r && cd r && echo x >x", "git_add", map[string]any{"paths": []string{"r/*"}}, "refused: did not match any files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.repo = s.work
			if text := s.plain("sh", "-ec", c.make); text != "" {
				t.Fatal(text)
			}
			arguments := map[string]any{"repo": "r"}
			for key, v := range c.arguments {
				arguments[key] = v
			}
			result := newBench(t, s.work, s.path()).do(c.tool, arguments)
			if want, refused := strings.CutPrefix(c.want, "refused: "); refused {
				if result.Success || !strings.Contains(result.Output, want) {
					t.Errorf("%s %s, want %q:\n%s", result.Status, result.Reason, want, result.Output)
				}
				return
			}
			wants(t, result, c.want)
			if strings.Contains(result.Output, " M ") || strings.Contains(result.Output, "?? ") {
				t.Errorf("files seem changed:\n%s", result.Output)
			}
		})
	}
}

// TestOtherPacksWork calls what needs no network.
func TestOtherPacksWork(t *testing.T) {
	work := t.TempDir()
	mustWrite(t, filepath.Join(work, "notes/a.md"), "first line\nsecond line\n", 0o644)
	mustWrite(t, filepath.Join(work, "binary"), "\xff\x00", 0o644)
	if err := os.Symlink("/etc", filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, work, os.Getenv("PATH"))
	wants(t, b.do("list_dir", nil), "binary\nlink@\nnotes/\n")
	wants(t, b.do("read_file", map[string]any{"path": "notes/a.md"}), "first line\nsecond line\n")
	wants(t, b.do("search_text", map[string]any{"query": "second"}), "notes/a.md:2:second line\n")
	wants(t, b.do("apply_patch", map[string]any{"path": "notes/a.md", "old_text": "first", "new_text": "only"}), "changed")
	wants(t, b.do("apply_patch", map[string]any{"path": "b.md", "old_text": "", "new_text": "new\n"}), "created")
	wants(t, b.do("read_file", map[string]any{"path": filepath.Join(work, "notes/a.md")}), "only line\n")
	for _, path := range []string{"../x", "/etc/hostname", "link/hostname", "notes", "missing", "binary", "", "notes/a.md\x00"} {
		if result := b.do("read_file", map[string]any{"path": path}); result.Success {
			t.Errorf("read_file %q: %s", path, result.Output)
		}
	}
	called := 0
	for _, tool := range b.live.Current().Tools() {
		if tool.Group == "system" && tool.Callable() {
			if result := b.do(tool.Name, nil); !result.Success || strings.TrimSpace(result.Output) == "" {
				t.Errorf("%s: %s %s\n%s", tool.Name, result.Status, result.Reason, result.Output)
			}
			called++
		}
	}
	if called == 0 {
		t.Error("no tool of the group system is available")
	}
	for _, tool := range b.live.Current().Tools() {
		for _, url := range []string{"http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/latest", "http://user:word@example.com/", "file:///etc/passwd"} {
			arguments, fits := map[string]any{"url": url, "path": "x", "body": map[string]any{}}, false
			for name := range arguments {
				if _, ok := tool.Arguments.Type().Fields[name]; !ok {
					delete(arguments, name)
				} else if name == "url" {
					fits = tool.Group == "network"
				}
			}
			if !fits {
				continue
			}
			if result := b.do(tool.Name, arguments); result.Success || result.Code == "invalid_arguments" {
				t.Errorf("%s %s: %s %s\n%s", tool.Name, url, result.Code, result.Reason, result.Output)
			}
		}
	}
}
