package guard

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"
)

// body is a request body that has been read: it can be read again by a
// handler, and seen whole.
type body struct {
	*bytes.Reader
	data []byte
}

func (body) Close() error { return nil }

// Body is the whole body of a POST that came through Authenticated, else nil.
// It must not be changed.
func Body(r *http.Request) []byte {
	if b, ok := r.Body.(body); ok {
		return b.data
	}
	return nil
}

// takeBody reads the body before anything looks at it, so that a slow or a
// huge one is turned away in one place.
func (g *Guard) takeBody(e Endpoint, w http.ResponseWriter, r *http.Request) bool {
	if e.MediaType != "" {
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != e.MediaType {
			g.refuse(w, "media_type", http.StatusUnsupportedMediaType, "send Content-Type: "+e.MediaType+"\n")
			return false
		}
	}
	// Nearly every body is there already, and a timer costs less than to set a
	// deadline and take it back. A writer that knows no deadlines is a test's.
	control := http.NewResponseController(w)
	late := time.AfterFunc(g.options.BodyTimeout, func() { _ = control.SetReadDeadline(time.Now()) })
	var data []byte
	err := error(&http.MaxBytesError{Limit: g.options.MaxBody})
	if r.ContentLength <= g.options.MaxBody {
		data, err = readAll(http.MaxBytesReader(w, r.Body, g.options.MaxBody), r.ContentLength)
	}
	if err == nil {
		if !late.Stop() {
			_ = control.SetReadDeadline(time.Time{})
		}
		if bounded, ok := w.(*boundedWriter); ok {
			bounded.whole = true
		}
		r.Body = body{bytes.NewReader(data), data}
		return true
	}
	// What is left of the body is not worth reading. The timer stays, since the
	// server reads on a little before it closes.
	w.Header().Set("Connection", "close")
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		g.refuse(w, "body", http.StatusRequestEntityTooLarge, "body is too large\n")
	case errors.Is(err, os.ErrDeadlineExceeded):
		g.refuse(w, "body", http.StatusRequestTimeout, "body did not arrive in time\n")
	default:
		g.refuse(w, "body", http.StatusBadRequest, "body could not be read\n")
	}
	return false
}

func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	data := make([]byte, length)
	_, err := io.ReadFull(r, data)
	if err != nil {
		return nil, err
	}
	// Reading on to the end lets the server notice a disconnect.
	_, err = io.Copy(io.Discard, r)
	return data, err
}

// boundedWriter gives every write a deadline: a client that stops reading
// cannot hold a call's goroutine for ever, and a stream may still last as long
// as it likes.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	until   time.Time // the deadline that is set
	whole   bool      // the body of the request has been read
}

// leftBody is how long the server goes on reading a body that nobody reads. It
// does so before it answers, so that the answer is not lost, and would wait
// for ever for bytes that do not come.
const leftBody = 500 * time.Millisecond

// leaveBody bounds the wait for a body that was not read. The server sets a
// deadline of its own before it reads the next request.
func (b *boundedWriter) leaveBody() {
	if !b.whole {
		_ = b.control.SetReadDeadline(time.Now().Add(leftBody))
	}
}

func newBoundedWriter(w http.ResponseWriter, timeout time.Duration) *boundedWriter {
	b := &boundedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
	b.extend() // an earlier request of the connection left its own deadline
	return b
}

// extend leaves a write at least half of the timeout; to set a deadline each
// time would cost more than the write.
func (b *boundedWriter) extend() {
	now := time.Now()
	if b.until.Sub(now) > b.timeout/2 {
		return
	}
	b.until = now.Add(b.timeout)
	_ = b.control.SetWriteDeadline(b.until)
}

func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *boundedWriter) WriteHeader(status int) {
	b.extend()
	b.ResponseWriter.WriteHeader(status)
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.extend()
	return b.ResponseWriter.Write(p)
}
