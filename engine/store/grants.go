package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/writ-dev/writ/engine/audit"
)

// What the state folder says of grants. A row is bound to the name for good:
// nothing deletes one, so that neither moving a file nor removing and adding
// the grant gives uses back (contract P-65).

// Grant is what is kept of one grant.
type Grant struct {
	Name string `json:"name"`
	// Remaining is how many uses are left; nil when it was never limited.
	Remaining *int64    `json:"remaining"`
	Used      int64     `json:"used"`
	FirstUsed time.Time `json:"first_used,omitzero"`
	Revoked   time.Time `json:"revoked,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
	Reviewed  string    `json:"reviewed,omitempty"`
	// Tools are the digests of the tools that its patterns cover, by name.
	Tools map[string]string `json:"-"`
}

// Left is how many uses are left when the configuration says uses, where 0
// means any number. Unlimited is true when nothing limits them.
func (g Grant) Left(uses int64) (left int64, unlimited bool) {
	switch {
	case g.Remaining == nil:
		return uses, uses == 0
	case uses > 0:
		return min(uses, *g.Remaining), false
	}
	return *g.Remaining, false
}

// InForce is a grant of a generation that is about to come into force.
type InForce struct {
	Name     string
	Uses     int64 // 0 means any number
	Reviewed string
	Tools    map[string]string // that only a pattern selects, with their digests
}

// EnterGrants notes the grants of a generation before it comes into force:
// which tools the patterns of a new grant cover, and lower limits. A later
// Reviewed covers the tools that are there now.
func (s *Store) EnterGrants(grants []InForce) error {
	if len(grants) == 0 {
		return nil
	}
	return s.writer.exclusively(func(c *conn) error {
		for _, g := range grants {
			if err := enter(c, g); err != nil {
				return fmt.Errorf("note grant %s: %w", g.Name, err)
			}
		}
		return nil
	})
}

func enter(c *conn, g InForce) error {
	row, err := c.row("SELECT reviewed FROM grants WHERE name = ?", g.Name)
	if err != nil {
		return err
	}
	if row == nil {
		err := c.exec("INSERT INTO grants (name, remaining, used, reviewed) VALUES (?, ?, 0, ?)", g.Name, bound(g.Uses), g.Reviewed)
		return errors.Join(err, cover(c, g))
	}
	if g.Uses > 0 {
		err := c.exec("UPDATE grants SET remaining = min(coalesce(remaining, ?2), ?2) WHERE name = ?1", g.Name, g.Uses)
		if err != nil {
			return err
		}
	}
	if before, _ := row[0].(string); g.Reviewed > before {
		if err := c.exec("UPDATE grants SET reviewed = ? WHERE name = ?", g.Reviewed, g.Name); err != nil {
			return err
		}
		return cover(c, g)
	}
	return nil
}

func cover(c *conn, g InForce) error {
	if err := c.exec("DELETE FROM grant_tools WHERE name = ?", g.Name); err != nil {
		return err
	}
	for tool, digest := range g.Tools {
		if err := c.exec("INSERT INTO grant_tools (name, tool, digest) VALUES (?, ?, ?)", g.Name, tool, digest); err != nil {
			return err
		}
	}
	return nil
}

func bound(uses int64) driver.Value {
	if uses == 0 {
		return nil
	}
	return uses
}

// ErrNoGrant says that no grant of this name was ever in force here.
var ErrNoGrant = errors.New("no such grant")

// RevokeGrant takes a grant back for good, by the approver of this name. A
// second revocation changes nothing.
func (s *Store) RevokeGrant(name, by string) error {
	return s.writer.exclusively(func(c *conn) error {
		row, err := c.row("SELECT 1 FROM grants WHERE name = ?", name)
		switch {
		case err != nil:
			return fmt.Errorf("revoke grant %s: %w", name, err)
		case row == nil:
			return ErrNoGrant
		}
		return c.exec("UPDATE grants SET revoked = ?2, revoked_by = ?3 WHERE name = ?1 AND revoked IS NULL",
			name, s.writer.now().UnixMicro(), by)
	})
}

// Grants returns what is kept, by name.
func (s *Store) Grants(ctx context.Context) (map[string]Grant, error) {
	grants := map[string]Grant{}
	rows, err := s.read.QueryContext(ctx, "SELECT name, remaining, used, first_used, revoked, revoked_by, reviewed FROM grants")
	if err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		g := Grant{Tools: map[string]string{}}
		var remaining, first, revoked sql.NullInt64
		if err := rows.Scan(&g.Name, &remaining, &g.Used, &first, &revoked, &g.RevokedBy, &g.Reviewed); err != nil {
			return nil, fmt.Errorf("read grants: %w", err)
		}
		if remaining.Valid {
			g.Remaining = &remaining.Int64
		}
		g.FirstUsed, g.Revoked = moment(first), moment(revoked)
		grants[g.Name] = g
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	return grants, s.grantTools(ctx, grants)
}

func (s *Store) grantTools(ctx context.Context, grants map[string]Grant) error {
	rows, err := s.read.QueryContext(ctx, "SELECT name, tool, digest FROM grant_tools")
	if err != nil {
		return fmt.Errorf("read grants: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, tool, digest string
		if err := rows.Scan(&name, &tool, &digest); err != nil {
			return fmt.Errorf("read grants: %w", err)
		}
		if g, ok := grants[name]; ok {
			g.Tools[tool] = digest
		}
	}
	return rows.Err()
}

func moment(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micros.Int64).UTC()
}

// exclusively runs one transaction between those of the writer.
func (w *writer) exclusively(work func(*conn) error) error {
	w.commit.Lock()
	defer w.commit.Unlock()
	w.write()
	if w.conn == nil {
		return ErrClosed
	}
	if failure := w.failure.Load(); failure != nil {
		return failure
	}
	return w.conn.transaction(func() error { return work(w.conn) })
}

// row returns the first row of a query, or nil.
func (c *conn) row(query string, args ...driver.Value) ([]driver.Value, error) {
	queryer, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver cannot run queries")
	}
	rows, err := queryer.QueryContext(context.Background(), query, named(args))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	return row, nil
}

var _ audit.Spender = (*slot)(nil)

// IntentUsing records an intent and one use of a grant, both or neither.
func (s *slot) IntentUsing(ctx context.Context, record audit.Record, use audit.Use) error {
	if s.over.Load() || s.intended {
		return errors.New("an intent was recorded for this call already")
	}
	record.Phase = audit.Intent
	e := newEntry(s, record)
	e.use = &use
	s.intended = true
	err := s.writer.durable(ctx, e)
	if errors.Is(err, audit.ErrNotReleased) {
		s.intended = false // nothing was written, and another grant may be tried
	}
	return err
}

// The statement that counts a use. A grant that a pattern brought to the tool
// covers it only as it was when the grant came into force.
const spend = `UPDATE grants SET used = used + 1, first_used = coalesce(first_used, ?3),
  remaining = CASE WHEN ?2 > 0 THEN min(coalesce(remaining, ?2), ?2) - 1 ELSE remaining - 1 END
WHERE name = ?1 AND revoked IS NULL AND (remaining IS NULL OR remaining > 0)
  AND (?4 = '' OR EXISTS (SELECT 1 FROM grant_tools t WHERE t.name = ?1 AND t.tool = ?4 AND t.digest = ?5))`

// use counts one use inside the transaction of its intent. Refused is what the
// call is told when none was counted; the transaction goes on without it. An
// error is one after which the transaction may be over.
func (w *writer) use(e *entry) (refused, err error) {
	u := e.use
	result, err := w.spend.ExecContext(context.Background(), named([]driver.Value{
		u.Grant, u.Uses, micros(w.now()), u.Tool, u.Digest,
	}))
	if err != nil {
		return isolated(u.Grant, err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil || n > 1:
		return nil, &GrantError{u.Grant, errors.Join(err, errors.New("the count is not certain"))}
	case n == 1:
		return nil, nil
	}
	row, err := w.conn.row("SELECT 1 FROM grants WHERE name = ? AND used >= 0 AND coalesce(remaining, 0) >= 0", u.Grant)
	switch {
	case err != nil:
		return isolated(u.Grant, err)
	case row == nil:
		return &GrantError{u.Grant, errors.New("it was never noted, or its count is damaged")}, nil
	}
	return audit.ErrNotReleased, nil
}

// isolated keeps a damaged count from stopping the calls that need no grant.
// Only these faults are known to leave the transaction as it was.
func isolated(grant string, err error) (refused, fault error) {
	var fromSQLite *sqlite.Error
	if errors.As(err, &fromSQLite) {
		switch fromSQLite.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT:
			return &GrantError{grant, err}, nil
		}
	}
	return nil, &GrantError{grant, err}
}

// GrantError says that the state of a grant cannot be used.
type GrantError struct {
	Grant string
	Cause error
}

func (e *GrantError) Error() string { return "state of grant " + e.Grant + ": " + e.Cause.Error() }

// Unwrap returns what the database said.
func (e *GrantError) Unwrap() error { return e.Cause }
