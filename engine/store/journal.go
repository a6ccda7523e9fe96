package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

// The reasons why a call gets no room in the journal.
var (
	ErrClosed = errors.New("the audit journal is closed")
	ErrFull   = errors.New("the audit journal is full: too many calls wait for the disk")
)

// FailedError says that the last write failed. Every reservation is refused
// until the store finds that writing works again.
type FailedError struct {
	Cause error
	Since time.Time // of the first write that failed
}

func (e *FailedError) Error() string {
	return "the audit journal cannot be written: " + e.Cause.Error()
}

// Unwrap returns what the database said.
func (e *FailedError) Unwrap() error { return e.Cause }

var _ audit.Journal = (*Store)(nil)

// Reserve makes room for one call.
func (s *Store) Reserve(ctx context.Context) (audit.Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writer.reserve(); err != nil {
		return nil, err
	}
	return &slot{writer: s.writer}, nil
}

// Flush commits what is queued.
func (s *Store) Flush() error {
	s.writer.drain()
	return s.writer.ready()
}

// slot is the room of one call. sequence belongs to whoever holds the
// writer's commit lock; the rest to the goroutine of the call.
type slot struct {
	writer   *writer
	sequence int64      // of the durable intent; 0 when there is none
	first    audit.Hash // digest of the first row that was written
	intended bool
	counts   bool        // identical refusals are counted in the record
	over     atomic.Bool // the call wants nothing more
}

// Intent returns nil once the record is durable.
func (s *slot) Intent(ctx context.Context, record audit.Record) error {
	if s.over.Load() || s.intended {
		return errors.New("an intent was recorded for this call already")
	}
	s.intended = true
	record.Phase = audit.Intent
	return s.writer.durable(ctx, newEntry(s, record))
}

// Outcome completes the record and gives the room back.
func (s *slot) Outcome(ctx context.Context, record audit.Record) error {
	if s.over.Load() {
		return errors.New("an outcome was recorded for this call already")
	}
	record.Phase = audit.Outcome
	s.over.Store(true)
	defer s.writer.calls.Add(-1)
	if !s.intended && !s.writer.closed.Load() && countable(&record) {
		record = record.Bounded()
		if s.writer.refusals.count(s, &record, s.writer.now()) {
			s.writer.reserved.Add(-1)
			return nil
		}
	}
	e := newEntry(s, record)
	if s.intended || record.Risk > call.ReadOnly {
		return s.writer.durable(ctx, e)
	}
	return s.writer.queue(e)
}

// Release gives back a room that no outcome used.
func (s *slot) Release() {
	if s.over.CompareAndSwap(false, true) {
		s.writer.calls.Add(-1)
		s.writer.reserved.Add(-1)
	}
}

// entry is one row on its way. The body is made by the goroutine of the call,
// because there are many of them and one writer.
type entry struct {
	slot    *slot
	record  audit.Record
	body    string
	digest  audit.Hash // of the event
	tally   bool       // the number of refusals; the room was given back before
	done    chan error // of size 1; nil when nobody waits
	use     *audit.Use // of a grant, counted with an intent; or nil
	refused error      // why the use was not counted, and the row not written
}

func newEntry(s *slot, record audit.Record) *entry {
	e := &entry{slot: s, record: record.Bounded()}
	e.body = body(&e.record)
	e.digest = audit.DigestOf(event(&e.record, e.body))
	return e
}

// finish tells whoever waits. Only the first answer counts.
func (e *entry) finish(err error) {
	if e.done != nil {
		select {
		case e.done <- err:
		default:
		}
	}
}
