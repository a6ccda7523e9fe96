// Package store answers one question: where does state live?
//
// In one private directory with one owner: a SQLite database, secrets in files
// of their own, and a lock that the owner holds. The store implements
// audit.Journal: a writer commits what arrived meanwhile as one durable
// transaction (write-ahead log, synchronous=FULL), so that many callers share
// one sync of the disk. What was promised is kept or refused in time: room is
// reserved before a call runs, a failed write refuses all further
// reservations with its reason, and the store finds out by itself when
// writing works again. It decides nothing and knows nothing of tools or
// policies.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/audit"
)

// File names in the state directory.
const (
	databaseName = "writ.db"
	lockName     = "lock"
	keyName      = "digest.key"
	signName     = "audit.key"
)

// DefaultQueue is how many calls may hold a reservation at the same time.
const DefaultQueue = 4096

// Options are what a store needs from outside.
type Options struct {
	Log *slog.Logger     // required
	Now func() time.Time // required
	// Queue bounds the reservations; 0 means DefaultQueue.
	Queue int
}

// Recovery is what Open found of the process before.
type Recovery struct {
	// Interrupted counts calls whose intent was recorded and whose outcome was
	// not: they were running, or about to, when the process ended.
	Interrupted int `json:"interrupted"`
	// Unclean says that the process before did not close the store. Records of
	// read-only calls of its last 50 ms may be missing.
	Unclean bool `json:"unclean"`
}

// Store is an open state directory. It is safe for concurrent use.
type Store struct {
	dir      Dir
	lock     *fileLock
	writer   *writer
	read     *sql.DB
	recovery Recovery

	closing sync.Once
	closed  error
}

// Open takes the state directory into possession, creating what is missing.
// It fails with an *InUseError while another process owns it, and with a
// message that says what to do when the directory is not private or the
// database is damaged or of a newer version.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	dir, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	lock, err := dir.lock()
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, dir, options)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s.lock = lock
	return s, nil
}

func open(ctx context.Context, dir Dir, options Options) (*Store, error) {
	if options.Queue == 0 {
		options.Queue = DefaultQueue
	}
	for _, name := range []string{databaseName, databaseName + "-wal", databaseName + "-shm"} {
		if err := dir.check(name); err != nil {
			return nil, err
		}
	}
	if err := dir.create(databaseName); err != nil {
		return nil, err
	}
	c, err := connect(dir.join(databaseName))
	if err != nil {
		return nil, explain(dir, err)
	}
	recovery, err := prepare(ctx, c)
	if err != nil {
		return nil, errors.Join(explain(dir, err), c.close())
	}
	key, err := dir.signingKey()
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	w, err := newWriter(c, dir.join(databaseName), key, options)
	if err != nil {
		return nil, errors.Join(explain(dir, err), c.close())
	}
	read, err := sql.Open("sqlite", dsn(dir.join(databaseName), "mode=ro&_pragma=busy_timeout(1000)&_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	read.SetMaxOpenConns(2)
	options.Log.Info("the audit chain goes on", "head", w.chain.durable.Load().String())
	if recovery.Unclean {
		options.Log.Warn("the process before did not end properly; records of read-only calls of its last 50 ms may be missing",
			"state", dir.Path(), "interrupted", recovery.Interrupted)
	}
	return &Store{dir: dir, writer: w, read: read, recovery: recovery}, nil
}

// Dir is the state directory.
func (s *Store) Dir() Dir { return s.dir }

// Recovery is what Open found of the process before.
func (s *Store) Recovery() Recovery { return s.recovery }

// Head is the end of the audit chain, as far as it is durable.
func (s *Store) Head() audit.Head { return *s.writer.chain.durable.Load() }

// Ready returns nil while records can be written, and otherwise why not.
func (s *Store) Ready() error { return s.writer.ready() }

// Close writes what is queued, marks the end as proper and gives the directory
// free. Reservations made before are void. It waits no longer than ctx for
// the queue.
func (s *Store) Close(ctx context.Context) error {
	s.closing.Do(func() {
		err := s.read.Close()
		s.closed = errors.Join(err, s.writer.close(ctx), s.lock.release())
		s.writer.log.Info("the audit chain ends", "head", s.Head().String())
		if s.closed != nil {
			s.closed = fmt.Errorf("close state directory %s: %w", s.dir.Path(), s.closed)
		}
	})
	return s.closed
}
