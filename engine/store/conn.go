package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is one connection of the driver itself: the writer needs neither the
// pool nor the conversions of database/sql. One goroutine uses it at a time.
type conn struct {
	driver.Conn
	begin, commit statement
}

// connect opens the database for reading and writing. Checkpoints are left to
// the checkpointer, so that no commit pays for one.
func connect(path string) (*conn, error) {
	// A commit appends to a file that has its size already: fdatasync keeps
	// the data as safe as fsync does. A system without it uses fsync.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, err
	}
	raw, err := (&sqlite.Driver{}).Open(dsn(path, "mode=rw&_pragma=busy_timeout(500)"+
		"&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=wal_autocheckpoint(0)"))
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw}
	if c.begin, err = c.statement("BEGIN IMMEDIATE"); err == nil {
		c.commit, err = c.statement("COMMIT")
	}
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return c, nil
}

func dsn(path, query string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query}).String()
}

func (c *conn) close() error { return c.Conn.Close() }

// exec runs statements that give no rows. It cannot be interrupted: a commit
// that has begun ends one way or the other.
func (c *conn) exec(query string, args ...driver.Value) error {
	execer, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot execute statements")
	}
	_, err := execer.ExecContext(context.Background(), query, named(args))
	return err
}

// integer runs a query whose first row has one integer; no row and NULL are 0.
func (c *conn) integer(query string) (int64, error) {
	queryer, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return 0, errors.New("the driver cannot run queries")
	}
	rows, err := queryer.QueryContext(context.Background(), query, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		return 0, err
	}
	switch v := row[0].(type) {
	case int64:
		return v, nil
	case nil:
		return 0, nil
	default:
		return 0, fmt.Errorf("%s gave %T", query, v)
	}
}

// transaction runs body between begin and commit, and undoes everything when
// either fails.
func (c *conn) transaction(body func() error) error {
	if err := c.begin.exec(nil); err != nil {
		return err
	}
	err := body()
	if err == nil {
		err = c.commit.exec(nil)
	}
	if err != nil {
		// The engine may have undone the transaction itself; then this says
		// so, and only the first error matters.
		_ = c.exec("ROLLBACK")
	}
	return err
}

// statement is a prepared statement of a conn.
type statement struct{ driver.StmtExecContext }

func (c *conn) statement(query string) (statement, error) {
	s, err := c.Conn.Prepare(query)
	if err != nil {
		return statement{}, err
	}
	execer, ok := s.(driver.StmtExecContext)
	if !ok {
		return statement{}, errors.New("the driver cannot execute prepared statements")
	}
	return statement{execer}, nil
}

func (s statement) exec(args []driver.NamedValue) error {
	_, err := s.ExecContext(context.Background(), args)
	return err
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, v := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}

// explain turns what SQLite says of a database into what a person can do.
func explain(dir Dir, err error) error {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return fmt.Errorf("open state directory %s: %w", dir.path, err)
	}
	path := dir.join(databaseName)
	switch fault.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is damaged or not a database: %w; move it away together with its -wal and -shm files, "+
			"or restore a copy (a new one is made at the next start)", path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("no room on the disk for %s: %w; free some space", path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s is locked by a program that is not writ: %w; close it", path, err)
	}
	return fmt.Errorf("open %s: %w", path, err)
}
