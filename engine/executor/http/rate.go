package httpcall

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/document"
)

// namesLimit is how many connections are remembered before idle ones are
// forgotten.
const namesLimit = 1024

// rates keeps, by the name of a connection, when its latest calls were sent or
// will be. It is used by many calls at once.
type rates struct {
	mu    sync.Mutex
	times map[string][]time.Time // in order
}

// RateError says that a call would have to wait longer than it may.
type RateError struct {
	Connection string
	Wait       time.Duration
}

func (e *RateError) Error() string {
	return fmt.Sprintf("the rate of connection %s is used up, the next call may be sent in %s", e.Connection, e.Wait.Round(time.Second/10))
}

// reserve takes the next moment at which a call may be sent such that no
// period holds more calls than the rate allows. A moment after the deadline is
// not taken; a zero deadline is none.
func (r *rates) reserve(name string, rate document.Rate, now, deadline time.Time) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := r.times[name]
	at := now
	if n := len(times) - rate.Calls; n >= 0 {
		if free := times[n].Add(time.Duration(rate.Every)); free.After(at) {
			at = free
		}
	}
	wait := at.Sub(now)
	if wait > 0 && !deadline.IsZero() && at.After(deadline) {
		return 0, &RateError{Connection: name, Wait: wait}
	}
	if r.times == nil {
		r.times = map[string][]time.Time{}
	}
	if len(r.times) >= namesLimit && times == nil {
		r.forget(now)
	}
	if extra := len(times) - rate.Calls; extra > 0 {
		times = append([]time.Time(nil), times[extra:]...)
	}
	r.times[name] = append(times, at)
	return wait, nil
}

// forget drops the names that have not called for a day, which is longer than
// any rate that matters for bursts.
func (r *rates) forget(now time.Time) {
	for name, times := range r.times {
		if now.Sub(times[len(times)-1]) > 24*time.Hour {
			delete(r.times, name)
		}
	}
}

// await holds a call back until the rate of its connection permits it.
func (e *Executor) await(ctx context.Context) error {
	if e.connection == nil || e.connection.rate == nil {
		return nil
	}
	deadline, _ := ctx.Deadline()
	wait, err := e.kind.rates.reserve(e.connection.name, *e.connection.rate, e.kind.options.Now(), deadline)
	if err != nil || wait == 0 {
		return err
	}
	return e.kind.options.Sleep(ctx, wait)
}
