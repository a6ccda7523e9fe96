package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/audit"
)

// ErrNoRecord says that no record has the request id or number.
var ErrNoRecord = errors.New("no such record")

// interruptedCode is the code of a call that had no outcome when the process
// died.
const interruptedCode = "interrupted"

const columns = "SELECT sequence, phase, request_id, started, tool, principal, result, body FROM records"

// Records returns the records that the filter asks for in ascending order,
// among them every call that was answered before.
func (s *Store) Records(ctx context.Context, filter audit.Filter) ([]audit.Record, error) {
	if err := filter.Check(); err != nil {
		return nil, err
	}
	s.settle()
	where, args := conditions(filter)
	order := " ORDER BY sequence DESC LIMIT ?"
	if filter.After > 0 {
		order = " ORDER BY sequence LIMIT ?"
	}
	limit := filter.Limit
	if limit == 0 {
		limit = audit.DefaultLimit
	}
	rows, err := s.read.QueryContext(ctx, columns+where+order, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	defer rows.Close()
	records := make([]audit.Record, 0, limit)
	for rows.Next() {
		record, err := scan(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	if filter.After == 0 {
		slices.Reverse(records)
	}
	return records, nil
}

// Record returns the newest record of a request id, or ErrNoRecord.
func (s *Store) Record(ctx context.Context, requestID string) (audit.Record, error) {
	return s.one(ctx, " WHERE request_id = ? ORDER BY sequence DESC LIMIT 1", requestID)
}

// Numbered returns the record of a sequence number, or ErrNoRecord.
func (s *Store) Numbered(ctx context.Context, sequence int64) (audit.Record, error) {
	return s.one(ctx, " WHERE sequence = ?", sequence)
}

// Count is the number of records, among them every call that was answered
// before.
func (s *Store) Count(ctx context.Context) (int64, error) {
	s.settle()
	var n int64
	if err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM records").Scan(&n); err != nil {
		return 0, fmt.Errorf("count audit records: %w", err)
	}
	return n, nil
}

func (s *Store) one(ctx context.Context, where string, arg any) (audit.Record, error) {
	s.settle()
	record, err := scan(s.read.QueryRowContext(ctx, columns+where, arg))
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Record{}, ErrNoRecord
	}
	return record, err
}

// settle commits what is queued. While writing fails, what is durable can
// still be read.
func (s *Store) settle() {
	if err := s.Flush(); err != nil {
		s.writer.log.Debug("records that are not durable yet are not shown", "error", err)
	}
}

func scan(row interface{ Scan(...any) error }) (audit.Record, error) {
	var (
		r       audit.Record
		started sql.NullInt64
		rest    string
	)
	err := row.Scan(&r.Sequence, &r.Phase, &r.RequestID, &started, &r.Tool, &r.Principal, &r.Result, &rest)
	if err != nil {
		return audit.Record{}, fmt.Errorf("read audit record: %w", err)
	}
	if started.Valid {
		r.Started = time.UnixMicro(started.Int64).UTC()
	}
	if err := decode(rest, &r); err != nil {
		return audit.Record{}, fmt.Errorf("audit record %d is damaged: %w", r.Sequence, err)
	}
	if r.Phase == audit.Interrupted {
		r.Code = interruptedCode
	}
	return r, nil
}

func conditions(f audit.Filter) (string, []any) {
	var terms []string
	var args []any
	add := func(term string, arg any) {
		terms = append(terms, term)
		args = append(args, arg)
	}
	if f.After > 0 {
		add("sequence > ?", f.After)
	}
	if !f.Since.IsZero() {
		add("started >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("started <= ?", f.Until.UnixMicro())
	}
	if f.Tool != "" {
		add("tool = ?", f.Tool)
	}
	if f.Principal != "" {
		add("principal = ?", f.Principal)
	}
	if f.Result != "" {
		add("result = ?", string(f.Result))
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}
