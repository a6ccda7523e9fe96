package reload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// told is a notifier that tests speak through.
type told chan string

func (t told) events() <-chan string { return t }
func (told) set(fingerprint)         {}
func (told) close()                  {}

func follow(t *testing.T, b *bench, n notifier) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.reloader.follow(ctx, n)
	}()
	return func() { cancel(); <-done }
}

// A draft is built while the edit settles, and is what comes into force.
func TestDraft(t *testing.T) {
	folder, file := one(t, "a")
	synctest.Test(t, func(t *testing.T) {
		b, n := newBench(t, folder, nil), make(told)
		defer follow(t, b, n)()
		write(t, file, "ab")
		n <- file
		time.Sleep(DefaultSettle / 2)
		synctest.Wait()
		if b.built() != 2 || len(b.generations()) != 1 {
			t.Fatalf("in the settle window there are %d builds and %d generations", b.built(), len(b.generations()))
		}
		time.Sleep(DefaultSettle)
		synctest.Wait()
		if got := b.generations(); b.built() != 2 || len(got) != 2 || got[1] != content(folder) {
			t.Fatalf("%d builds, in force: %q", b.built(), got)
		}
	})
}

// What is written after the draft was built, told or not, is never left out,
// and no half of an edit comes into force.
func TestDraftIsDropped(t *testing.T) {
	for name, tell := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			folder, file := one(t, "a")
			synctest.Test(t, func(t *testing.T) {
				b, n := newBench(t, folder, nil), make(told)
				defer follow(t, b, n)()
				write(t, file, "ab")
				n <- file
				time.Sleep(DefaultSettle / 2)
				write(t, file, "abc")
				if tell {
					n <- file
				}
				time.Sleep(3 * DefaultSettle)
				synctest.Wait()
				if got := b.generations(); len(got) != 2 || got[1] != content(folder) {
					t.Fatalf("in force: %q, in the files: %q", got, content(folder))
				}
			})
		})
	}
}

// A reload that is forced in the settle window is not undone by the draft.
func TestDraftOfAnOlderTime(t *testing.T) {
	folder, file := one(t, "a")
	synctest.Test(t, func(t *testing.T) {
		b, n := newBench(t, folder, nil), make(told)
		defer follow(t, b, n)()
		write(t, file, "ab")
		n <- file
		time.Sleep(DefaultSettle / 2)
		b.reloader.Reload(t.Context())
		time.Sleep(3 * DefaultSettle)
		synctest.Wait()
		if got := b.generations(); len(got) != 2 {
			t.Fatalf("in force: %q", got)
		}
	})
}
