package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// watch tells a client that asked for it how long its call has been running
// and how many lines came out so far. What it returns to the pipeline never
// blocks; stop returns after the last notification, so that none follows the
// result.
func (s *Server) watch(ctx context.Context, request *mcp.CallToolRequest) (report func(call.Progress), stop func()) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return nil, func() {}
	}
	var lines atomic.Int64
	lines.Store(-1)
	begin := s.options.Now()
	ticks, stopTicks := s.options.Ticker(s.options.Limits.ProgressEvery)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		last := 0.0
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticks:
			}
			// Progress must rise, whatever the clock does.
			last = max(s.options.Now().Sub(begin).Seconds(), last+0.001)
			message := fmt.Sprintf("running for %.1f s", last)
			if n := lines.Load(); n >= 0 {
				message += fmt.Sprintf(", %d lines", n)
			}
			// A client that went away is noticed by its transport.
			_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: last, Message: message,
			})
		}
	})
	report = func(p call.Progress) {
		if p.HasLine {
			lines.Store(p.Lines)
		}
	}
	return report, func() {
		stopTicks()
		close(done)
		running.Wait()
	}
}
