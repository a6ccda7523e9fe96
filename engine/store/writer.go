package store

import (
	"context"
	"crypto/ed25519"
	"database/sql/driver"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/audit"
)

const (
	// settle is how long a record for which nobody waits is left to gather
	// others. With the commit it stays within the 50 ms that are promised.
	settle = 20 * time.Millisecond
	// early is the number of queued records that ends settling.
	early = 256
)

// writer commits rows in groups. Whoever holds commit writes everything that
// is pending: usually the writer's own goroutine, and the caller itself when
// no other call is under way, which saves two hand-overs.
type writer struct {
	log      *slog.Logger
	now      func() time.Time
	capacity int64
	reserved atomic.Int64 // slots whose rows are not all durable
	calls    atomic.Int64 // slots whose call is under way
	failure  atomic.Pointer[FailedError]
	closed   atomic.Bool
	// rowsWritten counts for the checkpointer.
	rowsWritten atomic.Int64

	refusals refusals

	mu      sync.Mutex
	pending []*entry

	commit   sync.Mutex // guards what follows
	conn     *conn
	insert   statement
	complete statement
	mark     statement
	spend    statement
	next     int64
	backlog  []*entry // outcomes that could not be written
	chain    chain
	args     []driver.NamedValue

	urgent chan struct{} // somebody waits
	soon   chan struct{} // something was queued
	behind chan struct{} // many rows wait for a checkpoint
	stop   chan struct{}
	ended  sync.WaitGroup
}

func newWriter(c *conn, path string, key ed25519.PrivateKey, options Options) (*writer, error) {
	w := &writer{
		log: options.Log, now: options.Now, capacity: int64(options.Queue), conn: c,
		chain:    chain{key: key, open: map[int64]bool{}},
		refusals: refusals{windows: map[audit.Hash]*window{}},
		urgent:   make(chan struct{}, 1), soon: make(chan struct{}, 1), behind: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	var err error
	if w.insert, err = c.statement("INSERT INTO records (sequence, phase, request_id, started, tool, principal, result, body, position, hash) VALUES (?,?,?,?,?,?,?,?,?,?)"); err != nil {
		return nil, err
	}
	if w.complete, err = c.statement(complete); err != nil {
		return nil, err
	}
	if w.mark, err = c.statement("INSERT INTO marks (position, kind, at, sequence, low, hash, signature) VALUES (?,?,?,?,?,?,?)"); err != nil {
		return nil, err
	}
	if w.spend, err = c.statement(spend); err != nil {
		return nil, err
	}
	last, err := c.integer("SELECT max(sequence) FROM records")
	if err != nil {
		return nil, err
	}
	w.next = last + 1
	if err := w.resume(); err != nil {
		return nil, err
	}
	checkpoints, err := newCheckpointer(w, path)
	if err != nil {
		return nil, err
	}
	w.ended.Go(w.run)
	w.ended.Go(checkpoints.run)
	return w, nil
}

func (w *writer) ready() error {
	if w.closed.Load() {
		return ErrClosed
	}
	if failure := w.failure.Load(); failure != nil {
		return failure
	}
	return nil
}

func (w *writer) reserve() error {
	if err := w.ready(); err != nil {
		return err
	}
	if w.reserved.Add(1) > w.capacity {
		w.reserved.Add(-1)
		signal(w.urgent)
		return ErrFull
	}
	w.calls.Add(1)
	return nil
}

// durable returns once e is committed, has failed, or ctx has ended.
func (w *writer) durable(ctx context.Context, e *entry) error {
	e.done = make(chan error, 1)
	if err := ctx.Err(); err != nil && e.record.Phase == audit.Intent {
		return err
	}
	w.push(e)
	switch {
	case w.closed.Load():
		w.drain() // nobody else does
	case w.calls.Load() <= 1 && w.commit.TryLock():
		w.write()
		w.commit.Unlock()
	default:
		signal(w.urgent)
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-e.done:
		return err
	default:
		return ctx.Err()
	}
}

// queue returns at once. A slot has room for its rows, so the length of
// pending is bounded by the reservations.
func (w *writer) queue(e *entry) error {
	switch n := w.push(e); {
	case w.closed.Load():
		w.drain()
		return w.ready()
	case n >= early:
		signal(w.urgent)
	case n == 1:
		signal(w.soon)
	}
	return nil
}

func (w *writer) push(e *entry) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, e)
	return len(w.pending)
}

func (w *writer) run() {
	timer := time.NewTimer(settle)
	timer.Stop()
	retry := time.NewTicker(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.soon:
			timer.Reset(settle)
			continue
		case <-retry.C:
			if w.failure.Load() == nil {
				if w.refusals.due(w.now()) {
					w.drain()
				}
				continue
			}
			w.commit.Lock()
			w.recover()
			w.commit.Unlock()
			continue
		case <-w.urgent:
			// The callers of the last commit are about to come back: those
			// that can run do so first, and share the next one.
			runtime.Gosched()
		case <-timer.C:
		}
		w.drain()
	}
}

func (w *writer) drain() {
	w.commit.Lock()
	defer w.commit.Unlock()
	w.write()
}

// write commits everything that is pending. The caller holds commit.
func (w *writer) write() {
	w.mu.Lock()
	batch := w.pending
	w.pending = nil
	w.mu.Unlock()
	// The records of what was counted are in batch, or were written before.
	batch = append(batch, w.tally(w.closed.Load())...)
	if len(batch) == 0 {
		return
	}
	if w.conn == nil {
		w.keep(batch, ErrClosed)
		return
	}
	if failure := w.failure.Load(); failure != nil {
		w.keep(batch, failure)
		return
	}
	if err := w.attempt(batch, nil); err != nil {
		failure := &FailedError{Cause: err, Since: w.now()}
		w.failure.Store(failure)
		w.keep(batch, failure)
		w.log.Error("audit records cannot be written; calls are refused until it works again", "error", err)
		return
	}
	w.settled(batch)
}

// attempt writes a batch, and what more does, as one transaction. After an
// error everything is as before, also the numbers that rows were given.
func (w *writer) attempt(batch []*entry, more func() error) error {
	before, chain := w.next, w.chain.state
	w.chain.floor = before
	err := w.conn.transaction(func() error {
		if err := w.rows(batch); err != nil || more == nil {
			return err
		}
		return more()
	})
	if err == nil {
		w.chain.committed(batch)
		return nil
	}
	for _, e := range batch {
		e.refused = nil
		if e.slot.sequence >= before {
			e.slot.sequence = 0
		}
	}
	w.next, w.chain.state = before, chain
	return err
}

// rows writes the rows of a batch inside a transaction.
func (w *writer) rows(batch []*entry) error {
	for _, e := range batch {
		if e.use != nil {
			refused, err := w.use(e)
			if err != nil {
				return err
			}
			if e.refused = refused; refused != nil {
				continue
			}
		}
		if err := w.marks(); err != nil {
			return err
		}
		s, statement := e.slot, w.complete
		if s.sequence == 0 {
			statement = w.insert
			s.sequence, s.first = w.next, e.digest
			w.next++
		}
		w.chain.head = w.chain.head.Next(s.sequence, e.digest)
		r := &e.record
		w.args = append(w.args[:0],
			driver.NamedValue{Ordinal: 1, Value: s.sequence}, driver.NamedValue{Ordinal: 2, Value: string(r.Phase)},
			driver.NamedValue{Ordinal: 3, Value: r.RequestID}, driver.NamedValue{Ordinal: 4, Value: micros(r.Started)},
			driver.NamedValue{Ordinal: 5, Value: r.Tool}, driver.NamedValue{Ordinal: 6, Value: r.Principal},
			driver.NamedValue{Ordinal: 7, Value: string(r.Result)}, driver.NamedValue{Ordinal: 8, Value: e.body},
			driver.NamedValue{Ordinal: 9, Value: w.chain.head.Count}, driver.NamedValue{Ordinal: 10, Value: slices.Clone(w.chain.head.Hash[:])})
		if statement == w.complete {
			w.args = append(w.args, driver.NamedValue{Ordinal: 11, Value: s.first[:]})
		}
		if err := statement.exec(w.args); err != nil {
			return err
		}
	}
	return nil
}

// micros is how the database keeps a time; none is NULL.
func micros(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// settled gives back the room of every outcome of a committed batch.
func (w *writer) settled(batch []*entry) {
	rows := w.rowsWritten.Add(int64(len(batch)))
	if rows/checkpointRows != (rows-int64(len(batch)))/checkpointRows {
		signal(w.behind)
	}
	for _, e := range batch {
		e.finish(e.refused)
		if e.record.Phase == audit.Outcome && !e.tally {
			w.reserved.Add(-1)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close writes what is left and ends the writer. It is called once.
func (w *writer) close(ctx context.Context) error {
	w.closed.Store(true)
	close(w.stop)
	w.ended.Wait()
	w.commit.Lock()
	defer w.commit.Unlock()
	w.write()
	w.end()
	var lost error
	if w.failure.Load() != nil && ctx.Err() == nil {
		w.recover()
	}
	if failure := w.failure.Load(); failure != nil {
		lost = failure
	} else if err := w.conn.exec("DELETE FROM meta WHERE name = 'open'; PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		lost = err
	}
	err := errors.Join(lost, w.conn.close())
	w.conn = nil
	return err
}
