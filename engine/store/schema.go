package store

import (
	"context"
	"fmt"
)

// applicationID marks a database as ours: "Writ" in ASCII.
const applicationID = 0x57726974

// migrations lead from nothing to the current schema. Only ever append: the
// version of a database is how many of them it has seen.
//
// The columns of records are what can be asked for; body has the other fields
// of a record as JSON. There is no index but
// that of the open intents, because every index is paid for by every call.
func migrations() []string {
	return []string{`
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE records (
  sequence   INTEGER PRIMARY KEY,
  phase      TEXT NOT NULL,
  request_id TEXT NOT NULL,
  started    INTEGER, -- microseconds since 1970
  tool       TEXT NOT NULL,
  principal  TEXT NOT NULL,
  result     TEXT NOT NULL,
  body       TEXT NOT NULL
) STRICT;
CREATE INDEX records_open ON records (sequence) WHERE phase = 'intent';
`, `
CREATE TABLE grants (
  name       TEXT PRIMARY KEY,
  remaining  INTEGER CHECK (remaining >= 0), -- NULL: never limited
  used       INTEGER NOT NULL CHECK (used >= 0),
  first_used INTEGER, -- microseconds since 1970
  revoked    INTEGER, -- the same
  revoked_by TEXT NOT NULL DEFAULT '',
  reviewed   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE grant_tools (
  name   TEXT NOT NULL,
  tool   TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (name, tool)
) STRICT, WITHOUT ROWID;
`, `
ALTER TABLE records ADD COLUMN position INTEGER; -- of the newest entry of the record in the chain
ALTER TABLE records ADD COLUMN hash BLOB;        -- of the chain up to there
ALTER TABLE records ADD COLUMN first_position INTEGER; -- of the entry before it, if it had one
ALTER TABLE records ADD COLUMN first_digest BLOB;      -- of what the record said then
ALTER TABLE records ADD COLUMN first_hash BLOB;
CREATE TABLE marks (
  position  INTEGER PRIMARY KEY,
  kind      TEXT NOT NULL,
  at        INTEGER NOT NULL, -- microseconds since 1970
  sequence  INTEGER NOT NULL, -- the highest number given out before
  low       INTEGER NOT NULL, -- no record below has an entry behind the mark
  hash      BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT;
`}
}

// prepare brings the database to the current schema and finds out how the
// process before ended.
func prepare(ctx context.Context, c *conn) (Recovery, error) {
	if err := migrate(ctx, c); err != nil {
		return Recovery{}, err
	}
	unclean, err := c.integer("SELECT value FROM meta WHERE name = 'open'")
	if err != nil {
		return Recovery{}, err
	}
	open, err := c.integer("SELECT count(*) FROM records WHERE phase = 'intent'")
	return Recovery{Interrupted: int(open), Unclean: unclean != 0}, err
}

func migrate(ctx context.Context, c *conn) error {
	application, err := c.integer("PRAGMA application_id")
	if err != nil {
		return err
	}
	version, err := c.integer("PRAGMA user_version")
	if err != nil {
		return err
	}
	tables, err := c.integer("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	all := migrations()
	switch {
	case application != applicationID && (application != 0 || version != 0 || tables != 0):
		return fmt.Errorf("%s is the database of another program: choose another folder with --state-dir", databaseName)
	case version > int64(len(all)):
		return fmt.Errorf("%s was written by a newer writ (schema %d; this one knows %d): use that writ, or another folder with --state-dir",
			databaseName, version, len(all))
	}
	for ; version < int64(len(all)); version++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.transaction(func() error {
			if err := c.exec(all[version]); err != nil {
				return err
			}
			return c.exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1))
		})
		if err != nil {
			return fmt.Errorf("bring the database to schema %d: %w", version+1, err)
		}
	}
	return nil
}
