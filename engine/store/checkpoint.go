package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

const (
	// checkpointRows is how many rows call for a checkpoint at once; fewer are
	// left for checkpointIdle.
	checkpointRows = 2048
	checkpointIdle = 5 * time.Second
	// maxLog is how long the write-ahead log may become, in pages of 4 KiB,
	// before the writer is held up for the rest of it. Short is fast: a sync
	// of a file that does not grow leaves the journal of the file system alone.
	maxLog = 1 << 10
)

// checkpointer moves the write-ahead log into the database on a connection of
// its own, beside the writer instead of in its commits.
type checkpointer struct {
	writer *writer
	db     *sql.DB
	maxLog int // see the constant
	seen   int64
}

func newCheckpointer(w *writer, path string) (*checkpointer, error) {
	db, err := sql.Open("sqlite", dsn(path, "mode=rw&_pragma=busy_timeout(1000)&_pragma=synchronous(full)&_pragma=wal_autocheckpoint(0)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &checkpointer{writer: w, db: db, maxLog: maxLog}, nil
}

func (c *checkpointer) run() {
	ticker := time.NewTicker(checkpointIdle)
	defer ticker.Stop()
	defer c.db.Close()
	for {
		select {
		case <-c.writer.stop:
			return
		case <-c.writer.behind:
		case <-ticker.C:
		}
		rows := c.writer.rowsWritten.Load()
		if rows == c.seen {
			continue
		}
		c.seen = rows
		if err := c.checkpoint(); err != nil {
			c.writer.log.Warn("the write-ahead log of the state could not be shortened", "error", err)
		}
	}
}

// checkpoint is passive, so no commit waits for it. Under steady load it never
// catches up by itself and the log would grow for ever: then the writer is
// held up for the few pages that came meanwhile, and begins the log anew.
func (c *checkpointer) checkpoint() error {
	log, err := c.passive()
	if err != nil || log < c.maxLog {
		return err
	}
	c.writer.commit.Lock()
	defer c.writer.commit.Unlock()
	_, err = c.passive()
	return err
}

func (c *checkpointer) passive() (log int, err error) {
	var busy, moved int
	err = c.db.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &moved)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return log, err
}
