package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

// BenchmarkDurable measures one durable row: appended to a plain file with one
// sync for a group (the floor), and as the record of a call above read_only
// that was not executed. BenchmarkCall measures whole calls.
func BenchmarkDurable(b *testing.B) {
	for _, callers := range []int{1, 2, 8, 32, 256} {
		b.Run(fmt.Sprintf("append/%d", callers), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			log := &appender{file: f, wake: make(chan struct{}, 1)}
			go log.run()
			defer close(log.wake)
			row := make([]byte, 450)
			spread(b, callers, func(int) error { return log.append(row) })
		})
		b.Run(fmt.Sprintf("store/%d", callers), func(b *testing.B) {
			s := open(b, b.TempDir())
			record := done(example("0123456789abcdef", call.Mutating))
			spread(b, callers, func(int) error {
				slot, err := s.Reserve(context.Background())
				if err != nil {
					return err
				}
				return slot.Outcome(context.Background(), record)
			})
			exactly(b, s.Count)
		})
	}
}

func BenchmarkCall(b *testing.B) {
	for _, level := range []call.Level{call.ReadOnly, call.Mutating} {
		for _, callers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", level, callers), func(b *testing.B) {
				s := open(b, b.TempDir())
				record := done(example("0123456789abcdef", level))
				b.ReportAllocs()
				spread(b, callers, func(int) error {
					slot, err := s.Reserve(context.Background())
					if err != nil {
						return err
					}
					if level > call.ReadOnly {
						if err := slot.Intent(context.Background(), record); err != nil {
							return err
						}
					}
					return slot.Outcome(context.Background(), record)
				})
				exactly(b, s.Count)
			})
		}
	}
}

// spread runs work b.N times on so many goroutines and reports the slowest
// hundredth.
func spread(b *testing.B, callers int, work func(int) error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				for err := work(int(i)); err != nil; err = work(int(i)) {
					time.Sleep(time.Millisecond) // a full queue refuses
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
}

func exactly(b *testing.B, count func(context.Context) (int64, error)) {
	b.Helper()
	if n, err := count(context.Background()); err != nil || n != int64(b.N) {
		b.Fatalf("%d records, %v; want %d", n, err, b.N)
	}
}

// appender is the floor: rows in a plain file, one sync for all that came
// meanwhile.
type appender struct {
	file    *os.File
	wake    chan struct{}
	mu      sync.Mutex
	data    []byte
	waiting []chan error
}

func (a *appender) append(row []byte) error {
	done := make(chan error, 1)
	a.mu.Lock()
	a.data = append(a.data, row...)
	a.waiting = append(a.waiting, done)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return <-done
}

func (a *appender) run() {
	for range a.wake {
		a.mu.Lock()
		data, waiting := a.data, a.waiting
		a.data, a.waiting = nil, nil
		a.mu.Unlock()
		_, err := a.file.Write(data)
		if err == nil {
			err = a.file.Sync()
		}
		for _, done := range waiting {
			done <- err
		}
	}
}
