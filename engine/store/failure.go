package store

import (
	"time"

	"github.com/writ-dev/writ/engine/audit"
)

// retryAfter is how long a failed writer rests before it tries again.
const retryAfter = 250 * time.Millisecond

// keep answers a batch that was not written. An intent is dropped, because its
// call will not be executed. An outcome is kept: the call has happened.
func (w *writer) keep(batch []*entry, reason error) {
	for _, e := range batch {
		e.finish(reason)
		if e.record.Phase == audit.Outcome {
			w.backlog = append(w.backlog, e)
		}
	}
}

// recover writes the backlog, and more than that, to see whether there is room
// again. The caller holds commit.
func (w *writer) recover() {
	err := w.attempt(w.backlog, func() error {
		return w.conn.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(65536))")
	})
	if err != nil {
		since := w.now()
		if failure := w.failure.Load(); failure != nil {
			since = failure.Since
		}
		w.failure.Store(&FailedError{Cause: err, Since: since})
		return
	}
	if err := w.conn.exec("DELETE FROM meta WHERE name = 'probe'"); err != nil {
		w.log.Warn("the trial row stays in the database until the next trial", "error", err)
	}
	w.settled(w.backlog)
	w.log.Info("audit records are written again", "late", len(w.backlog))
	w.backlog = nil
	w.failure.Store(nil)
}
