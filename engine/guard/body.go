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
	control := http.NewResponseController(w)
	// A writer that knows no deadlines is a test's; there is nothing to bound.
	_ = control.SetReadDeadline(time.Now().Add(g.options.BodyTimeout))
	var data []byte
	err := error(&http.MaxBytesError{Limit: g.options.MaxBody})
	if r.ContentLength <= g.options.MaxBody {
		data, err = readAll(http.MaxBytesReader(w, r.Body, g.options.MaxBody), r.ContentLength)
	}
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		r.Body = body{bytes.NewReader(data), data}
		return true
	}
	// What is left of the body is not worth reading. The deadline stays, since
	// the server reads on a little before it closes.
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

// boundedWriter gives every single write a deadline: a client that stops
// reading cannot hold a call's goroutine for ever, and a stream may still
// last as long as it likes.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func newBoundedWriter(w http.ResponseWriter, timeout time.Duration) *boundedWriter {
	b := &boundedWriter{w, http.NewResponseController(w), timeout}
	b.extend() // an earlier request of the connection left its own deadline
	return b
}

func (b *boundedWriter) extend() { _ = b.control.SetWriteDeadline(time.Now().Add(b.timeout)) }

func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *boundedWriter) WriteHeader(status int) {
	b.extend()
	b.ResponseWriter.WriteHeader(status)
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.extend()
	return b.ResponseWriter.Write(p)
}
