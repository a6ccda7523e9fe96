package store

import (
	"container/heap"
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"

	"github.com/writ-dev/writ/engine/audit"
)

// Trail reads the audit chain of a state folder without owning it, as it was
// at one moment.
type Trail struct {
	dir Dir
	db  *sql.DB
	key audit.Signature // public; nil when the folder has no key
}

// OpenTrail opens the chain of a folder for reading. It changes nothing.
func OpenTrail(ctx context.Context, dir Dir) (*Trail, error) {
	t := &Trail{dir: dir}
	if seed, err := dir.read(signName); err == nil && len(seed) == ed25519.SeedSize {
		t.key = audit.Signature(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	}
	if err := dir.check(databaseName); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(dir.join(databaseName), "mode=ro&_pragma=busy_timeout(1000)&_pragma=query_only(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	t.db = db
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return nil, errors.Join(explain(dir, err), db.Close())
	}
	if all := len(migrations()); version != all {
		return nil, errors.Join(fmt.Errorf("%s has schema %d, and this writ reads %d: start the server or any command of this version once",
			dir.join(databaseName), version, all), db.Close())
	}
	return t, nil
}

// Close closes the database.
func (t *Trail) Close() error { return t.db.Close() }

// Verify follows the whole chain. A non-zero anchor must be in it.
func (t *Trail) Verify(ctx context.Context, anchor audit.Head) (audit.Report, error) {
	v := &audit.Verifier{Key: t.key, Anchor: anchor, Whole: true}
	err := t.walk(ctx, v, func(e audit.Entry) error {
		v.Add(e)
		return nil
	})
	return v.Report(), err
}

// Entries gives the entries behind a position in ascending order, until give
// fails.
func (t *Trail) Entries(ctx context.Context, after int64, give func(audit.Entry) error) error {
	return t.walk(ctx, nil, func(e audit.Entry) error {
		if e.Position <= after {
			return nil
		}
		return give(e)
	})
}

const chained = "SELECT sequence, phase, request_id, started, tool, principal, result, body, position, hash, first_position, first_digest, first_hash FROM records ORDER BY sequence"

// walk gives every entry in the order of positions. Records come in the order
// of their first entries; the second is held back until no record can stand
// before it.
func (t *Trail) walk(ctx context.Context, v *audit.Verifier, give func(audit.Entry) error) error {
	tx, err := t.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("read the audit chain: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	marks, start, err := t.marks(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the audit chain: %w", err)
	}
	w := walker{give: give, waiting: marks, v: v}
	heap.Init(&w.waiting)
	rows, err := tx.QueryContext(ctx, chained)
	if err != nil {
		return fmt.Errorf("read the audit chain: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r chainedRow
		if err := rows.Scan(&r.sequence, &r.phase, &r.request, &r.started, &r.tool, &r.principal, &r.result, &r.body,
			&r.position, &r.hash, &r.firstPosition, &r.firstDigest, &r.firstHash); err != nil {
			return fmt.Errorf("read the audit chain: %w", err)
		}
		if err := w.row(&r, start); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the audit chain: %w", err)
	}
	return w.until(1<<63 - 1)
}

// marks reads the marks, which are few, and what the first one says of where
// the chain begins.
func (t *Trail) marks(ctx context.Context, tx *sql.Tx) (queue, int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT position, kind, at, sequence, low, hash, signature FROM marks ORDER BY position")
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	var marks queue
	var start int64
	for rows.Next() {
		var m mark
		var hash []byte
		e := audit.Entry{Key: t.key}
		if err := rows.Scan(&e.Position, &m.kind, &m.at, &m.sequence, &m.low, &hash, &e.Signature); err != nil {
			return nil, 0, err
		}
		if len(marks) == 0 {
			start = m.sequence
		}
		e.Kind, e.Sequence, e.Event, e.Hash = m.kind, m.sequence, m.event(), sum(hash)
		e.Digest = audit.DigestOf(e.Event)
		marks = append(marks, e)
	}
	return marks, start, rows.Err()
}

// chainedRow is a record with its two entries.
type chainedRow struct {
	row
	position, firstPosition      sql.NullInt64
	hash, firstDigest, firstHash []byte
}

type walker struct {
	give    func(audit.Entry) error
	waiting queue
	v       *audit.Verifier // told what no entry shows; or nil
	last    int64           // number of the record before
	first   int64           // its first position
}

// row takes the next record. Those up to start may be older than the chain.
func (w *walker) row(r *chainedRow, start int64) error {
	if w.v != nil && w.last > 0 && r.sequence > w.last+1 {
		w.v.Problem(0, w.last+1, missing(w.last+1, r.sequence-1))
	}
	w.last = r.sequence
	if !r.position.Valid {
		if w.v != nil {
			w.unchained(r, start)
		}
		return nil
	}
	first := r.position.Int64
	if r.firstPosition.Valid {
		first = min(first, r.firstPosition.Int64)
	}
	// One record with a wrong position does not let others through too early.
	before := w.first
	w.first = first
	if err := w.until(min(before, first)); err != nil {
		return err
	}
	if r.firstPosition.Valid {
		kind := audit.KindIntent
		if r.result == string(audit.Refused) {
			kind = audit.KindRefusal
		}
		heap.Push(&w.waiting, audit.Entry{Position: r.firstPosition.Int64, Kind: kind, Sequence: r.sequence, Digest: sum(r.firstDigest), Hash: sum(r.firstHash)})
	}
	e := audit.Entry{Position: r.position.Int64, Kind: audit.KindOf(audit.Phase(r.phase), audit.Result(r.result)),
		Sequence: r.sequence, Event: r.event(), Hash: sum(r.hash)}
	e.Digest = audit.DigestOf(e.Event)
	heap.Push(&w.waiting, e)
	return nil
}

func (w *walker) unchained(r *chainedRow, start int64) {
	if r.sequence > start || r.hash != nil || r.firstPosition.Valid || r.firstHash != nil || r.firstDigest != nil {
		w.v.Problem(0, r.sequence, fmt.Sprintf("record %d is not in the chain: it was added or changed", r.sequence))
		return
	}
	w.v.Unchained()
}

func missing(first, last int64) string {
	if first == last {
		return fmt.Sprintf("record %d is missing", first)
	}
	return fmt.Sprintf("records %d to %d are missing", first, last)
}

// until gives what stands before a position.
func (w *walker) until(position int64) error {
	for len(w.waiting) > 0 && w.waiting[0].Position < position {
		e, _ := heap.Pop(&w.waiting).(audit.Entry)
		if err := w.give(e); err != nil {
			return err
		}
	}
	return nil
}

// sum is a hash of the database. One of another length becomes zero, which no
// event has.
func sum(b []byte) audit.Hash {
	if len(b) != len(audit.Hash{}) {
		return audit.Hash{}
	}
	return audit.Hash(b)
}

// queue orders entries by position.
type queue []audit.Entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].Position < q[j].Position }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop are for package heap.
func (q *queue) Push(x any) {
	if e, ok := x.(audit.Entry); ok {
		*q = append(*q, e)
	}
}

// Pop removes the last.
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = audit.Entry{}
	*q = old[:len(old)-1]
	return last
}
