package store

import (
	"crypto/ed25519"
	"database/sql/driver"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/writ-dev/writ/engine/audit"
)

// markEvery is how many entries follow one signed mark before the next.
const markEvery = 1000

// complete is the statement that gives a record its second entry and keeps
// what is needed to follow the chain through the first.
const complete = "UPDATE records SET phase = ?2, request_id = ?3, started = ?4, tool = ?5, principal = ?6, result = ?7, body = ?8, " +
	"first_position = position, first_hash = hash, first_digest = ?11, position = ?9, hash = ?10 WHERE sequence = ?1"

// chain is the writer's end of the audit chain. Its hashes are made inside the
// transaction of the rows, so that both are durable or neither is.
type chain struct {
	state
	key ed25519.PrivateKey
	// open are the records whose second entry may still come; records from
	// floor on may be so too.
	open    map[int64]bool
	floor   int64
	durable atomic.Pointer[audit.Head]
}

// state is what a transaction that fails puts back.
type state struct {
	head   audit.Head
	marked int64 // position of the last mark
	began  bool  // this process has put its start mark
}

// committed notes what a transaction made durable.
func (c *chain) committed(batch []*entry) {
	for _, e := range batch {
		switch {
		case e.slot.sequence == 0:
		case e.record.Phase == audit.Intent, e.slot.counts && !e.tally:
			c.open[e.slot.sequence] = true
		default:
			delete(c.open, e.slot.sequence)
		}
	}
	head := c.head
	c.durable.Store(&head)
}

// resume finds the end of the chain and completes the records of calls that
// the process before did not survive.
func (w *writer) resume() error {
	if err := w.chain.find(w.conn); err != nil {
		return err
	}
	oldest, err := w.conn.integer("SELECT min(sequence) FROM records WHERE phase = 'intent'")
	if err != nil {
		return err
	}
	if w.chain.floor = w.next; oldest > 0 {
		w.chain.floor = oldest
	}
	err = w.conn.transaction(func() error {
		if err := w.interrupt(); err != nil {
			return err
		}
		return w.conn.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('open', 1)")
	})
	if err == nil {
		w.chain.committed(nil)
	}
	return err
}

// find reads the head: the last entry of the last mark and of the records that
// may stand behind it.
func (c *chain) find(db *conn) error {
	mark, err := db.row("SELECT position, hash, low FROM marks ORDER BY position DESC LIMIT 1")
	if err != nil || mark == nil {
		return err
	}
	if c.head, err = headOf(mark[0], mark[1]); err != nil {
		return err
	}
	c.marked = c.head.Count
	row, err := db.row("SELECT position, hash FROM (SELECT position, hash FROM records WHERE sequence >= ?1"+
		" UNION ALL SELECT first_position, first_hash FROM records WHERE sequence >= ?1) WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1", mark[2])
	if err != nil || row == nil {
		return err
	}
	head, err := headOf(row[0], row[1])
	if head.Count > c.head.Count {
		c.head = head
	}
	return err
}

func headOf(position, hash any) (audit.Head, error) {
	n, _ := position.(int64)
	sum, _ := hash.([]byte)
	if len(sum) != len(audit.Hash{}) {
		return audit.Head{}, fmt.Errorf("position %d of the audit chain has no hash: run writ audit verify, and move %s away", n, databaseName)
	}
	return audit.Head{Count: n, Hash: audit.Hash(sum)}, nil
}

// interrupt completes every open intent inside a transaction.
func (w *writer) interrupt() error {
	for {
		row, err := w.conn.row(columns + " WHERE phase = 'intent' LIMIT 1")
		if err != nil || row == nil {
			return err
		}
		r := rowOf(row)
		first := audit.DigestOf(r.event())
		r.phase, r.result = string(audit.Interrupted), string(audit.Cancelled)
		if err := w.marks(); err != nil {
			return err
		}
		w.chain.head = w.chain.head.Next(r.sequence, audit.DigestOf(r.event()))
		head := w.chain.head
		if err := w.conn.exec("UPDATE records SET phase = ?2, result = ?3, first_position = position, first_hash = hash, "+
			"first_digest = CASE WHEN position IS NULL THEN NULL ELSE ?4 END, position = ?5, hash = ?6 WHERE sequence = ?1",
			r.sequence, r.phase, r.result, first[:], head.Count, head.Hash[:]); err != nil {
			return err
		}
	}
}

// marks puts the marks that are due before the next entry.
func (w *writer) marks() error {
	switch {
	case !w.chain.began:
		w.chain.began = true
		return w.put(audit.KindStart)
	case w.chain.head.Count-w.chain.marked >= markEvery:
		return w.put(audit.KindCheckpoint)
	}
	return nil
}

// put adds a signed mark inside a transaction.
func (w *writer) put(kind audit.Kind) error {
	c := &w.chain
	m := mark{kind: kind, at: w.now().UnixMicro(), sequence: w.next - 1, low: min(w.next, c.floor)}
	for sequence := range c.open {
		m.low = min(m.low, sequence)
	}
	c.head = c.head.Next(m.sequence, audit.DigestOf(m.event()))
	c.marked = c.head.Count
	head := c.head
	return w.mark.exec(named([]driver.Value{head.Count, string(m.kind), m.at, m.sequence, m.low, head.Hash[:], []byte(audit.Sign(c.key, head))}))
}

// end puts the stop mark, when anything was written at all. What fails here is
// only missed: the next start finds the chain as it is.
func (w *writer) end() {
	if !w.chain.began || w.conn == nil || w.failure.Load() != nil {
		return
	}
	before := w.chain.state
	w.chain.floor = w.next
	if err := w.conn.transaction(func() error { return w.put(audit.KindStop) }); err != nil {
		w.chain.state = before
		w.log.Warn("the stop mark of the audit chain could not be written", "error", err)
		return
	}
	w.chain.committed(nil)
}

// mark is an entry of the process.
type mark struct {
	kind     audit.Kind
	at       int64
	sequence int64
	low      int64
}

func (m mark) event() []byte {
	b := object{make([]byte, 0, 128)}
	b.number("at_us", m.at)
	b.text("kind", string(m.kind))
	b.number("low", m.low)
	b.number("sequence", m.sequence)
	return b.end()
}

// event is the canonical JSON of a record as the chain binds it.
func event(r *audit.Record, body string) []byte {
	return row{phase: string(r.Phase), request: r.RequestID, started: micros(r.Started), tool: r.Tool,
		principal: r.Principal, result: string(r.Result), body: body}.event()
}

// row is a record as the database keeps it.
type row struct {
	sequence        int64
	phase, request  string
	started         any // int64, or nil
	tool, principal string
	result, body    string
}

// rowOf reads what columns select.
func rowOf(v []driver.Value) row {
	text := func(i int) string {
		s, _ := v[i].(string)
		return s
	}
	sequence, _ := v[0].(int64)
	return row{sequence: sequence, phase: text(1), request: text(2), started: v[3], tool: text(4), principal: text(5), result: text(6), body: text(7)}
}

func (r row) event() []byte {
	b := object{make([]byte, 0, len(r.body)+256)}
	b.key("detail")
	b.out = append(b.out, r.body...)
	b.text("phase", r.phase)
	b.text("principal", r.principal)
	b.text("request_id", r.request)
	b.text("result", r.result)
	if at, ok := r.started.(int64); ok {
		b.key("started_us")
		b.out = strconv.AppendInt(b.out, at, 10)
	}
	b.text("tool", r.tool)
	return b.end()
}
