package httpcall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
)

// Execute sends the request that was prepared, or writes the bytes that were
// fetched.
func (e *Executor) Execute(ctx context.Context, effect call.Effect, run executor.Run) call.Outcome {
	p, ok := effect.Pinned.(*plan)
	if !ok || !p.ready {
		return executor.Fail("the call was not prepared")
	}
	if e.save != "" {
		return e.write(p, run)
	}
	got, err := e.exchange(ctx, p)
	if ctx.Err() != nil && err != nil {
		return executor.Ended(ctx)
	}
	if err != nil {
		outcome := executor.Fail(e.redact(explain(err).Error()))
		if errors.Is(err, context.DeadlineExceeded) {
			outcome.Status = call.TimedOut
		}
		return outcome
	}
	return e.outcome(got, run)
}

// outcome is what the caller gets of an answer. Only 2xx is success; the body
// of any other status is kept, because it says why.
func (e *Executor) outcome(got answer, run executor.Run) call.Outcome {
	outcome := call.Outcome{Status: call.Complete, Body: run.Capture(got.body), MediaType: got.mediaType()}
	if missing := got.total - int64(len(got.body)); got.more && missing > 0 {
		outcome.Body.Total += missing
	}
	if got.status < 200 || got.status > 299 {
		outcome.Status, outcome.Reason = call.Failed, statusReason(got.status)
	}
	if e.shaped {
		return outcome
	}
	result := map[string]any{
		"status": int64(got.status), "content_type": e.redact(strings.ToValidUTF8(got.header.Get("Content-Type"), "\ufffd")),
		"bytes": got.total, "body": text(outcome.Body),
	}
	if outcome.Body.Truncated() {
		result["truncated"] = true
	}
	outcome.Value = result
	return outcome
}

// text is a capture as one text, with a mark where something was left out.
func text(c call.Capture) string {
	whole := strings.ToValidUTF8(string(c.Head), "\ufffd")
	if missing := c.Total - int64(len(c.Head)+len(c.Tail)); missing > 0 {
		whole += fmt.Sprintf("\n[… %d bytes left out …]\n", missing)
	}
	return whole + strings.ToValidUTF8(string(c.Tail), "\ufffd")
}

func statusReason(status int) string {
	reason := fmt.Sprintf("HTTP %d", status)
	if words := http.StatusText(status); words != "" {
		reason += " " + words
	}
	if status >= 300 && status < 400 {
		reason += ", a redirect that is not followed"
	}
	return reason
}

func (e *Executor) redact(text string) string {
	if e.secrets == nil {
		return text
	}
	return e.secrets.Redact(text)
}

// write puts the approved bytes in their place.
func (e *Executor) write(p *plan, run executor.Run) call.Outcome {
	folder, name, err := rooted.OpenParent(p.resource, e.files)
	if err != nil {
		return executor.Fail(err.Error())
	}
	defer folder.Close()
	if err := folder.Replace(name, p.before, p.fetched); err != nil {
		return executor.Fail(err.Error())
	}
	line := fmt.Sprintf("saved %s: %d bytes, sha256 %x\n", rooted.Shown(folder.Name(name)), len(p.fetched), sha256.Sum256(p.fetched))
	return call.Outcome{Status: call.Complete, Body: run.Capture([]byte(line)), MediaType: "text/plain; charset=utf-8"}
}
