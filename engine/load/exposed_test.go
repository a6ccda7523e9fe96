//go:build linux || darwin

package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExposed(t *testing.T) {
	for name, c := range map[string]struct {
		folder, file os.FileMode
		want         string
	}{
		"private":          {0o755, 0o644, ""},
		"closed":           {0o700, 0o600, ""},
		"file of all":      {0o755, 0o646, "chmod o-w"},
		"folder of all":    {0o757, 0o644, "chmod o-w"},
		"group and all":    {0o755, 0o666, "o-w"},
		"sticky is no way": {0o1777, 0o644, "o-w"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "conf", "a.yaml")
			write(t, path, fmt.Sprintf(secretText, "a"))
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(path), c.folder); err != nil {
				t.Fatal(err)
			}
			r := newLoader(t).Load(context.Background(), Options{Paths: []string{filepath.Dir(path)}})
			if c.want == "" {
				if len(r.Problems) > 0 {
					t.Errorf("got %v", r.Problems)
				}
				return
			}
			if len(r.Problems) != 1 || r.Problems[0].Code != "exposed" || !strings.Contains(r.Problems[0].Hint, c.want) {
				t.Errorf("got %v", r.Problems)
			}
		})
	}
}

// TestWho decides by user and group without needing such users.
func TestWho(t *testing.T) {
	const us, friend, stranger = 1000, 1001, 1002
	o := owners{us: us, private: map[[2]uint32]bool{{us, us}: true, {0, 0}: true, {us, friend}: false}}
	for _, c := range []struct {
		mode     os.FileMode
		uid, gid uint32
		who      string
	}{
		{0o664, us, us, ""}, {0o664, us, friend, "group 1001"}, {0o644, us, friend, ""}, {0o644, 0, 0, ""}, {0o664, 0, 0, ""},
		{0o644, stranger, us, "its owner, user 1002,"}, {0o600, stranger, us, "its owner, user 1002,"}, {0o666, us, us, "every user"},
		{0o666, us, friend, "every user"},
	} {
		if who, remedy := o.who("/etc/writ/a b", c.mode, c.uid, c.gid); who != c.who || (who != "") != strings.Contains(remedy, `"/etc/writ/a b"`) {
			t.Errorf("%o %d:%d: %q, %q", c.mode, c.uid, c.gid, who, remedy)
		}
	}
}

// TestExposureIsLookedAtEachTime: a chmod changes no content.
func TestExposureIsLookedAtEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf", "a.yaml")
	write(t, path, fmt.Sprintf(secretText, "a"))
	l, options := newLoader(t), Options{Paths: []string{filepath.Dir(path)}}
	first := l.Load(context.Background(), options)
	if len(first.Problems) > 0 {
		t.Fatal(first.Problems)
	}
	if err := os.Chmod(path, 0o646); err != nil {
		t.Fatal(err)
	}
	options.Previous = first.Cache
	if r := l.Load(context.Background(), options); r.Unchanged || !r.Problems.HasErrors() {
		t.Errorf("unchanged: %t, %v", r.Unchanged, r.Problems)
	}
}
