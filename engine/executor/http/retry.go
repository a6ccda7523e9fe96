package httpcall

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/writ-dev/writ/engine/network"
)

// Bounds of the pause between two tries.
const (
	backoffDefault = 500 * time.Millisecond
	backoffLimit   = 10 * time.Second
)

// retry is a compiled Retry.
type retry struct {
	most    int
	connect bool
	codes   []int
	backoff time.Duration
}

// exchange sends the request, again where the Connection says so, and returns
// the last answer. It waits for the rate before each try.
func (e *Executor) exchange(ctx context.Context, p *plan) (answer, error) {
	for try := 0; ; try++ {
		if err := e.await(ctx); err != nil {
			return answer{}, err
		}
		got, err := e.attempt(ctx, p)
		if ctx.Err() != nil || e.connection == nil || try >= e.connection.retry.most || !e.mayRepeat(got, err) {
			return got, err
		}
		pause, ok := e.pause(ctx, try, got)
		if !ok {
			return got, err
		}
		if waited := e.kind.options.Sleep(ctx, pause); waited != nil {
			return got, errors.Join(err, waited)
		}
	}
}

// attempt is one try within its own time.
func (e *Executor) attempt(ctx context.Context, p *plan) (answer, error) {
	if e.tryTimeout <= 0 {
		return e.follow(ctx, p)
	}
	bounded, cancel := context.WithTimeout(ctx, e.tryTimeout)
	defer cancel()
	return e.follow(bounded, p)
}

// mayRepeat reports whether a try may be repeated. Where nothing was sent, it
// always may. A request that may have arrived is repeated only if doing it
// twice is as good as once.
func (e *Executor) mayRepeat(got answer, err error) bool {
	rules := e.connection.retry
	var connect *network.ConnectError
	var refused *network.RefusedError
	switch {
	case errors.As(err, &refused):
		return false
	case errors.As(err, &connect) && !got.sent:
		return rules.connect
	case err != nil:
		return rules.connect && e.repeatable
	}
	return e.repeatable && slices.Contains(rules.codes, got.status)
}

// pause is how long to wait before the next try. It reports false when the
// call would be over by then.
func (e *Executor) pause(ctx context.Context, try int, got answer) (time.Duration, bool) {
	pause := e.connection.retry.backoff
	for range try {
		pause = min(2*pause, backoffLimit)
	}
	now := e.kind.options.Now()
	if asked, ok := retryAfter(got.header, now); ok {
		pause = max(pause, asked)
	}
	deadline, bounded := ctx.Deadline()
	return pause, !bounded || now.Add(pause).Before(deadline)
}

// retryAfter reads the header in both of its forms.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
