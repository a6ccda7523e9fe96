package store

import (
	"context"
	"fmt"

	"github.com/writ-dev/writ/engine/audit"
)

// Last is the highest number of a record, 0 when there is none.
func (t *Trail) Last(ctx context.Context) (int64, error) {
	var n int64
	if err := t.db.QueryRowContext(ctx, "SELECT coalesce(max(sequence), 0) FROM records").Scan(&n); err != nil {
		return 0, fmt.Errorf("read audit records: %w", err)
	}
	return n, nil
}

// After returns the records behind a number in ascending order, at most limit.
func (t *Trail) After(ctx context.Context, sequence int64, limit int) ([]audit.Record, error) {
	return t.some(ctx, " WHERE sequence > ? ORDER BY sequence LIMIT ?", sequence, limit)
}

// Numbered returns the record of a number, or ErrNoRecord.
func (t *Trail) Numbered(ctx context.Context, sequence int64) (audit.Record, error) {
	records, err := t.some(ctx, " WHERE sequence = ?", sequence)
	if err == nil && len(records) == 0 {
		err = ErrNoRecord
	}
	if err != nil {
		return audit.Record{}, err
	}
	return records[0], nil
}

func (t *Trail) some(ctx context.Context, where string, args ...any) ([]audit.Record, error) {
	rows, err := t.db.QueryContext(ctx, columns+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	defer rows.Close()
	var records []audit.Record
	for rows.Next() {
		record, err := scan(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, rows.Err()
}
