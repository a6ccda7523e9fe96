package reload

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/engine/diag"
)

// shelf builds generations that are the text of all files of one folder. A
// file that says "broken" is a mistake, a word "deny:x" is a deny rule.
type shelf struct {
	folder string

	mu        sync.Mutex
	builds    int
	committed []string
}

func (s *shelf) build(context.Context) Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builds++
	c := Candidate{Watch: []string{s.folder}}
	text := content(s.folder)
	if strings.Contains(text, "panic") {
		panic("a rule with a fault")
	}
	if strings.Contains(text, "broken") || text == "" {
		c.Problems.Errorf(diag.Position{File: "git.yaml", Line: 1}, "broken", "this is broken")
		return c
	}
	before := s.inForce()
	c.Unchanged = text == before
	for _, word := range strings.Fields(before) {
		if strings.HasPrefix(word, "deny:") && !strings.Contains(text, word) {
			c.Loosens = append(c.Loosens, word)
		}
	}
	c.Commit = func() uint64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.committed = append(s.committed, text)
		return uint64(len(s.committed))
	}
	return c
}

func (s *shelf) inForce() string {
	if len(s.committed) == 0 {
		return ""
	}
	return s.committed[len(s.committed)-1]
}

func (s *shelf) generations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.committed)
}

func (s *shelf) built() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.builds
}

func content(folder string) string {
	var b strings.Builder
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			info, _ := os.Stat(path)
			text, _ := os.ReadFile(path)
			b.WriteString(strings.TrimPrefix(path, folder) + " " + info.Mode().String() + " " + string(text) + "\n")
		}
		return nil
	})
	return b.String()
}

type bench struct {
	*shelf
	reloader *Reloader
	log      *bytes.Buffer
}

func newBench(t *testing.T, folder string, change func(*Options)) *bench {
	t.Helper()
	b := &bench{shelf: &shelf{folder: folder}, log: &bytes.Buffer{}}
	o := Options{Build: b.build, Watch: []string{folder}, Log: slog.New(slog.NewTextHandler(b.log, nil)), PollOnly: true}
	if change != nil {
		change(&o)
	}
	b.reloader = New(o)
	if first := b.reloader.Reload(t.Context()); !first.Published {
		t.Fatalf("first load: %v", first.Problems)
	}
	return b
}

// run follows the files until the function it returns is called.
func (b *bench) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { b.reloader.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func TestPollingAloneSeesEveryEdit(t *testing.T) {
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			documents := layout(t)
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, documents, nil)
				defer b.run(t)()
				synctest.Wait()
				builds := b.built()
				edit.do(t, documents)
				time.Sleep(DefaultPoll + 3*DefaultSettle)
				synctest.Wait()
				if b.built() == builds {
					t.Fatal("the edit was not seen")
				}
				if got := b.generations(); got[len(got)-1] != content(documents) {
					t.Fatalf("in force: %q, in the files: %q", got[len(got)-1], content(documents))
				}
			})
		})
	}
}

func TestNotificationsAloneSeeEveryEdit(t *testing.T) {
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			documents := layout(t)
			b := newBench(t, documents, func(o *Options) { o.PollOnly, o.Poll, o.Settle = false, time.Hour, time.Millisecond })
			n := b.reloader.notifier()
			n.set(b.reloader.lastSeen()) // before the edit, so that nothing else can show it
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			edit.do(t, documents)
			b.reloader.building.Lock()
			b.reloader.seen.sum = take(b.reloader.watch).sum
			b.reloader.building.Unlock()
			go func() { b.reloader.follow(ctx, n); close(done) }()
			eventually(t, func() bool {
				got := b.generations()
				return b.reloader.Status().Attempts > 1 && got[len(got)-1] == content(documents)
			})
			cancel()
			<-done
			n.close()
		})
	}
}

// eventually waits without an opinion on how long something takes.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not happen")
		}
	}
}

func one(t *testing.T, text string) (folder, file string) {
	folder = t.TempDir()
	file = filepath.Join(folder, "git.yaml")
	write(t, file, text)
	return folder, file
}

func TestInvalidEditKeepsTheLastGoodGeneration(t *testing.T) {
	folder, file := one(t, "good")
	synctest.Test(t, func(t *testing.T) {
		var observed []bool
		b := newBench(t, folder, func(o *Options) {
			o.Observe = func(_ uint64, ok bool) { observed = append(observed, ok) }
		})
		stop := b.run(t)
		for _, text := range []string{"broken", "broken again", "panic", ""} {
			write(t, file, text)
			if text == "" {
				must(t, os.Remove(file))
			}
			time.Sleep(2 * DefaultPoll)
			status := b.reloader.Status()
			if status.Valid || !status.Problems.HasErrors() || status.Generation != 1 || len(b.generations()) != 1 {
				t.Fatalf("after %q: %+v, %d generations", text, status, len(b.generations()))
			}
		}
		write(t, file, "mended")
		time.Sleep(2 * DefaultPoll)
		if status := b.reloader.Status(); !status.Valid || len(status.Problems) > 0 || status.Generation != 2 {
			t.Fatalf("after mending: %+v", status)
		}
		stop()
		if first, last := observed[0], observed[len(observed)-1]; !first || !last || !slices.Contains(observed, false) {
			t.Fatalf("observed %v", observed)
		}
		for _, want := range []string{"git.yaml:1", "this is broken", "last good generation", "valid again"} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, b.log)
			}
		}
	})
}

// The cause of a mistake may not show in any file that is watched.
func TestInvalidFilesAreReadAgain(t *testing.T) {
	folder, _ := one(t, "good")
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var unreachable diag.List
		unreachable.Errorf(diag.Position{File: folder}, "unreadable", "stale file handle")
		b := newBench(t, folder, func(o *Options) {
			build := o.Build
			o.Build = func(ctx context.Context) Candidate {
				if away.Load() {
					return Candidate{Problems: unreachable}
				}
				return build(ctx)
			}
		})
		defer b.run(t)()
		synctest.Wait()
		away.Store(true)
		b.reloader.Reload(t.Context())
		away.Store(false)
		time.Sleep(time.Minute)
		if !b.reloader.Status().Valid {
			t.Fatal("never read again")
		}
	})
}

func TestLooseningWaitsOneMoreWindow(t *testing.T) {
	for _, test := range []struct {
		name, later string
		generations int
	}{
		{"it comes back", "deny:a deny:b", 1},
		{"it stays away", "deny:b", 2},
		{"another goes too", "x", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder, file := one(t, "deny:a deny:b")
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, folder, func(o *Options) { o.Settle, o.Longest = time.Second, time.Minute })
				defer b.run(t)()
				synctest.Wait()
				write(t, file, "deny:b")
				time.Sleep(DefaultPoll + 1500*time.Millisecond) // seen, settled, built once
				if got := b.generations(); len(got) != 1 {
					t.Fatalf("published without waiting: %q", got)
				}
				write(t, file, test.later)
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := b.generations(); len(got) != test.generations {
					t.Fatalf("%d generations: %q", len(got), got)
				}
				if logged := strings.Contains(b.log.String(), "gone=deny:a"); logged != (test.generations == 2) {
					t.Fatalf("log: %s", b.log)
				}
			})
		})
	}
}

func TestForcedReloadDoesNotWait(t *testing.T) {
	folder, file := one(t, "deny:a x")
	b := newBench(t, folder, func(o *Options) { o.Manual = true })
	stop := b.run(t)
	write(t, file, "x")
	outcome := b.reloader.Reload(t.Context())
	if !outcome.Published || outcome.Generation != 2 || !slices.Equal(outcome.Loosens, []string{"deny:a"}) {
		t.Fatalf("%+v", outcome)
	}
	write(t, file, "broken")
	if outcome := b.reloader.Reload(t.Context()); outcome.Published || outcome.Generation != 2 || !outcome.Problems.HasErrors() {
		t.Fatalf("%+v", outcome)
	}
	stop()
}

func TestManualModeFollowsNothing(t *testing.T) {
	folder, file := one(t, "x")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, folder, func(o *Options) { o.Manual = true })
		defer b.run(t)()
		write(t, file, "y")
		time.Sleep(time.Hour)
		synctest.Wait()
		if b.built() != 1 || b.reloader.Status().Mode != "manual" {
			t.Fatalf("%d builds", b.built())
		}
	})
}

// A writer that never pauses must not keep an edit out for ever.
func TestEndlessWritingSettlesNevertheless(t *testing.T) {
	folder, file := one(t, "0")
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, folder, nil)
		stop := b.run(t)
		for range 400 { // 10 s: a look every 2 s, and at most 1 s to settle
			time.Sleep(DefaultSettle / 2)
			write(t, file+".tmp", content(folder)+"x")
			must(t, os.Rename(file+".tmp", file))
		}
		stop()
		if len(b.generations()) < 2 {
			t.Fatal("nothing was published while the file was written")
		}
	})
}

func TestThousandReloadsLeaveNothingBehind(t *testing.T) {
	folder, file := one(t, "x")
	b := newBench(t, folder, func(o *Options) { o.PollOnly, o.Settle = false, time.Millisecond })
	stop := b.run(t)
	b.reloader.Reload(t.Context())
	goroutines, memory := runtime.NumGoroutine(), heap()
	for i := range 1000 {
		if i%2 == 0 {
			must(t, os.Rename(file, file+".old"))
		}
		write(t, file, strings.Repeat("y", i%7+1))
		b.reloader.Reload(t.Context())
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	b.mu.Lock()
	b.committed = b.committed[:1]
	b.log.Reset()
	b.mu.Unlock()
	if now := heap(); now > memory+2<<20 {
		t.Errorf("%d bytes in use, %d before", now, memory)
	}
	stop()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
