package executor

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/call"
)

// Capture redacts content that is already in memory and keeps at most
// MaxBytes of it, the first and the last half, never cutting a character. A
// MaxBytes of 0 keeps everything.
func (r Run) Capture(content []byte) call.Capture {
	if r.Redactor != nil {
		stream := r.Redactor()
		clean := append([]byte(nil), stream.Write(content)...)
		content = append(clean, stream.Flush()...)
	}
	capture := call.Capture{Head: content, Total: int64(len(content))}
	if r.MaxBytes <= 0 || capture.Total <= r.MaxBytes {
		return capture
	}
	head := int(r.MaxBytes / 2)
	tail := len(content) - int(r.MaxBytes) + head
	for back := 0; back < utf8.UTFMax && head > 0 && !utf8.RuneStart(content[head]); back++ {
		head--
	}
	for forward := 0; forward < utf8.UTFMax && tail < len(content) && !utf8.RuneStart(content[tail]); forward++ {
		tail++
	}
	capture.Head, capture.Tail = content[:head], content[tail:]
	return capture
}

// Ended says how a call ends whose context has ended: cancelled or out of time.
func Ended(ctx context.Context) call.Outcome {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return call.Outcome{Status: call.TimedOut, Reason: "the time of the call was over"}
	}
	return call.Outcome{Status: call.Cancelled, Reason: "the call was cancelled"}
}

// Fail is the outcome of an effect that did not happen, or not wholly.
func Fail(reason string) call.Outcome { return call.Outcome{Status: call.Failed, Reason: reason} }
