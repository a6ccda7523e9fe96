package root

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// world is a configuration folder with two roots and things to escape to.
func world(t testing.TB) (*Set, string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"work/sub/deep", "other", "outside", "tools.d", "state", "work-not"} {
		if err := os.MkdirAll(filepath.Join(top, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"writ.yaml", "work/file", "work/sub/file", "outside/file", "state/db", "tools.d/a.yaml"} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"work/in":        "sub",
		"work/in-abs":    filepath.Join(top, "work", "sub"),
		"work/out":       "../outside",
		"work/out-abs":   filepath.Join(top, "outside"),
		"work/dangling":  "../outside/new",
		"work/fresh":     "sub/new",
		"work/loop":      "loop",
		"work/sneaky":    "sub/../../outside",
		"work/wrap":      filepath.Join(top, "work") + "/../outside",
		"work/sub/up":    "..",
		"work/to-config": "../tools.d",
		"alias":          "work",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Skipf("this system makes no symlinks: %v", err)
		}
	}
	s, err := Open(map[string]string{"work": "./work", "other": filepath.Join(top, "other"), "gone": "gone"},
		top, []string{filepath.Join(top, "writ.yaml"), filepath.Join(top, "tools.d"), filepath.Join(top, "state")})
	if err != nil {
		t.Fatal(err)
	}
	return s, top
}

func TestResolve(t *testing.T) {
	s, top := world(t)
	for _, c := range []struct{ sent, must, want, wantErr string }{
		{sent: ".", want: "work"},
		{sent: "file", must: MustFile, want: "work/file"},
		{sent: "sub/../file", want: "work/file"},
		{sent: "./sub//deep/", must: MustDirectory, want: "work/sub/deep"},
		{sent: filepath.Join(top, "work", "file"), want: "work/file"},
		{sent: filepath.Join(top, "other"), want: "other"},
		{sent: "in/file", want: "work/sub/file"},
		{sent: "in-abs/deep", want: "work/sub/deep"},
		{sent: "sub/up/sub/up/file", want: "work/file"},
		{sent: "new", must: MustAbsent, want: "work/new"},
		{sent: "a/b/c", want: "work/a/b/c"},
		{sent: "fresh", must: MustAbsent, want: "work/sub/new"},
		{sent: "./~", want: "work/~"},
		{sent: "..x", want: "work/..x"},

		{sent: "", wantErr: "empty"},
		{sent: "a\x00b", wantErr: "NUL"},
		{sent: "~", wantErr: "~ is not expanded"},
		{sent: "~root/x", wantErr: "~ is not expanded"},
		{sent: strings.Repeat("a/", 3000), wantErr: "at most 4096"},
		{sent: "..", wantErr: "outside the root"},
		{sent: "../work", wantErr: "outside the root"},
		{sent: "sub/../../outside/file", wantErr: "outside the root"},
		{sent: filepath.Join(top, "work") + "/../outside/file", wantErr: "outside the roots"},
		{sent: filepath.Join(top, "work-not"), wantErr: "outside the roots"},
		{sent: "/etc/passwd", wantErr: "outside the roots"},
		{sent: "/proc/self/environ", wantErr: "outside the roots"},
		{sent: "out/file", wantErr: "outside the root"},
		{sent: "out-abs/file", wantErr: "outside the root"},
		{sent: "out-abs", wantErr: "outside the root"},
		{sent: "dangling", wantErr: "outside the root"},
		{sent: "sneaky/file", wantErr: "outside the root"},
		{sent: "wrap/file", wantErr: "outside the root"},
		{sent: "to-config/a.yaml", wantErr: "outside the root"},
		{sent: "loop", wantErr: "too many links"},
		{sent: "file/x", wantErr: "not a folder"},
		{sent: "file/", wantErr: "not a folder"},
		{sent: "nope", must: MustExist, wantErr: "does not exist"},
		{sent: "sub", must: MustFile, wantErr: "not a regular file"},
		{sent: "file", must: MustDirectory, wantErr: "not a folder"},
		{sent: "file", must: MustAbsent, wantErr: "exists already"},
	} {
		t.Run(c.sent+" "+c.must, func(t *testing.T) {
			where, absolute, err := s.Resolve([]string{"work", "other"}, c.sent, c.must)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("got %q, %v; want an error with %q", absolute, err, c.wantErr)
				}
				if !strings.Contains(c.sent, top) && strings.Contains(err.Error(), top) {
					t.Fatalf("the error tells a host path: %v", err)
				}
				return
			}
			if err != nil || absolute != filepath.Join(top, c.want) {
				t.Fatalf("got %q, %v; want %q", absolute, err, c.want)
			}
			if joined := filepath.Join(where.RootPath, where.Relative); joined != absolute {
				t.Errorf("resource %+v is not %s", where, absolute)
			}
		})
	}
}

func TestProtectedIsRefusedUnderEveryRoot(t *testing.T) {
	s, top := world(t)
	if err := os.Link(filepath.Join(top, "writ.yaml"), filepath.Join(top, "work", "hard")); err != nil {
		t.Fatal(err)
	}
	all, err := Open(map[string]string{"all": top}, top, []string{
		filepath.Join(top, "writ.yaml"), filepath.Join(top, "tools.d"), filepath.Join(top, "alias", "later", "state")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set   *Set
		under string
		sent  string
	}{
		{s, "work", "hard"},
		{all, "all", "writ.yaml"},
		{all, "all", "tools.d"},
		{all, "all", "tools.d/new.yaml"},
		{all, "all", "work/to-config/new.yaml"},
		{all, "all", "work/later/state/db"},
		{all, Anywhere, filepath.Join(top, "tools.d", "a.yaml")},
	} {
		_, _, err := c.set.Resolve([]string{c.under}, c.sent, "")
		if err == nil || !strings.Contains(err.Error(), "Writ's own") {
			t.Errorf("%s under %s: got %v", c.sent, c.under, err)
		}
	}
	if _, _, err := all.Resolve([]string{"all"}, ".", MustDirectory); err != nil {
		t.Errorf("a folder that contains Writ's files is not itself refused: %v", err)
	}
	if all.IsProtected(top) || !all.ContainsProtected(top) || !all.Protected(top) {
		t.Error("the configuration folder contains protected files and is not one")
	}
	if all.Protected(filepath.Join(top, "outside")) {
		t.Error("a foreign folder is not protected")
	}
}

func TestAnywhere(t *testing.T) {
	s, top := world(t)
	where, absolute, err := s.Resolve([]string{Anywhere}, filepath.Join(top, "work", "out", "file"), MustFile)
	if err != nil || absolute != filepath.Join(top, "outside", "file") || where.Root != Anywhere {
		t.Fatalf("got %+v %q %v", where, absolute, err)
	}
	if _, _, err := s.Resolve([]string{Anywhere}, "file", ""); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative path has no place: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	for _, sent := range []string{"/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/1/environ", "/proc/thread-self/fd/0", "/dev/fd/0", "/dev/stdin", "/proc/net/tcp"} {
		if _, _, err := s.Resolve([]string{Anywhere}, sent, ""); err == nil {
			t.Errorf("%s was taken", sent)
		}
	}
}

func TestRoots(t *testing.T) {
	s, top := world(t)
	if got := strings.Join(s.Names(), " "); got != "gone other work" {
		t.Errorf("names: %s", got)
	}
	if !s.Declared("gone") || s.Declared("none") || !s.Declared(Anywhere) {
		t.Error("declared")
	}
	if ok, why := s.Available("gone"); ok || !strings.Contains(why, "roots.gone") || strings.Contains(why, "/") {
		t.Errorf("gone: %v %q", ok, why)
	}
	if ok, why := s.Available("none"); ok || why != "declare roots.none in writ.yaml" {
		t.Errorf("none: %v %q", ok, why)
	}
	if ok, _ := s.Available("work"); !ok {
		t.Error("work is there")
	}
	if _, _, err := s.Resolve([]string{"gone"}, "x", ""); err == nil || strings.Contains(err.Error(), top) {
		t.Errorf("an absent root: %v", err)
	}
	if _, _, err := s.Resolve(nil, "x", ""); err == nil {
		t.Error("no root, no path")
	}
	for name, written := range map[string]string{Anywhere: "work", "Bad": "work", "a": "", "b": "~/x", "c": "tools.d", "d": "state/sub"} {
		if _, err := Open(map[string]string{name: written}, top, s.protected); err == nil {
			t.Errorf("roots.%s: %q was taken", name, written)
		}
	}
	if _, err := Open(nil, "relative", nil); err == nil {
		t.Error("a relative base was taken")
	}
}

func TestOpenRoot(t *testing.T) {
	s, _ := world(t)
	opened, err := s.OpenRoot("work")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.Stat("sub/file"); err != nil {
		t.Error(err)
	}
	if _, err := opened.Open("out/file"); err == nil {
		t.Error("left the root through a link")
	}
	if _, err := s.OpenRoot("gone"); err == nil {
		t.Error("opened a root that is not there")
	}
}

func TestLexical(t *testing.T) {
	s, top := world(t)
	lexical := Lexical{s}
	where, absolute, err := lexical.Resolve([]string{"gone"}, "a/../b", MustExist)
	if err != nil || absolute != filepath.Join(top, "gone", "b") || where.Relative != "b" || where.Root != "gone" {
		t.Fatalf("got %+v %q %v", where, absolute, err)
	}
	for _, sent := range []string{"..", "~", "", filepath.Join(top, "state")} {
		if _, _, err := lexical.Resolve([]string{"gone"}, sent, ""); err == nil {
			t.Errorf("%q was taken", sent)
		}
	}
	if _, _, err := lexical.Resolve([]string{Anywhere}, filepath.Join(top, "tools.d", "x"), ""); err == nil {
		t.Error("a protected path was taken")
	}
	if _, _, err := lexical.Resolve([]string{"none"}, "x", ""); err == nil {
		t.Error("an undeclared root was taken")
	}
}

func FuzzResolve(f *testing.F) {
	s, top := world(f)
	for _, seed := range []string{"file", "in/../file", "sub/up/out/file", "out/../../x", "//", "a/./../..", "dangling/..", "sub/up/sneaky", top + "/work/in", "fresh/x", "\\..\\x"} {
		f.Add(seed)
	}
	work := filepath.Join(top, "work")
	f.Fuzz(func(t *testing.T, sent string) {
		_, absolute, err := s.Resolve([]string{"work"}, sent, "")
		if err != nil {
			return
		}
		if _, ok := inside(work, absolute); !ok {
			t.Fatalf("%q became %q", sent, absolute)
		}
		// What exists of it must already be free of links.
		for at := absolute; len(at) >= len(work); at = filepath.Dir(at) {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				if real != at {
					t.Fatalf("%q became %q, which is %q", sent, absolute, real)
				}
				break
			}
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
				t.Fatalf("%q became %q, through the link %q", sent, absolute, at)
			}
		}
		if _, again, err := s.Resolve([]string{"work"}, absolute, ""); err != nil || again != absolute {
			t.Fatalf("%q became %q, which became %q: %v", sent, absolute, again, err)
		}
	})
}
