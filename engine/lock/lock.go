// Package lock answers one question: who may touch this resource now?
//
// Tools declare named locks; calls that share a name run one after another.
// All names of a call are taken together in the order of the names, so that
// two calls can never wait for each other. A name exists only while somebody
// holds it or waits for it, so memory is bounded by the calls in flight. The
// package knows nothing of calls or tools.
package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Wait is how long a call waits for its locks before it is told that they are
// busy (contract P-91).
const Wait = 10 * time.Second

// ErrBusy says that a lock could not be had within the wait.
var ErrBusy = errors.New("the resource is in use by another call")

// Set is a set of named locks. The zero value is ready to use.
type Set struct {
	mu    sync.Mutex
	names map[string]*entry
}

type entry struct {
	token chan struct{} // holds one element while the lock is free
	users int           // holders and waiters
}

// Acquire takes all names within wait and returns what releases them, which
// may be called more than once. It fails with ErrBusy, or with the error of ctx.
func (s *Set) Acquire(ctx context.Context, names []string, wait time.Duration) (release func(), err error) {
	if len(names) == 0 {
		return func() {}, nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for i, name := range names {
		if err := s.take(ctx, name, timer.C); err != nil {
			s.release(names[:i])
			return nil, err
		}
	}
	var once sync.Once
	return func() { once.Do(func() { s.release(names) }) }, nil
}

func (s *Set) take(ctx context.Context, name string, expired <-chan time.Time) error {
	token := s.enter(name)
	select {
	case <-token:
		return nil
	default:
	}
	var err error
	select {
	case <-token:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-expired:
		err = fmt.Errorf("lock %q: %w", name, ErrBusy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(name)
	return err
}

func (s *Set) enter(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]*entry{}
	}
	e := s.names[name]
	if e == nil {
		e = &entry{token: make(chan struct{}, 1)}
		e.token <- struct{}{}
		s.names[name] = e
	}
	e.users++
	return e.token
}

// leave forgets one user of a name. The caller holds the mutex.
func (s *Set) leave(name string) {
	e := s.names[name]
	if e.users--; e.users == 0 {
		delete(s.names, name)
	}
}

func (s *Set) release(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.names[name].token <- struct{}{}
		s.leave(name)
	}
}
