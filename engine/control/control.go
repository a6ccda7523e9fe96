// Package control answers one question: how do commands speak to the owner of
// a state folder?
//
// The owner listens on a socket that only its own user can reach: it lies in
// the private state folder, and both sides ask the operating system who is at
// the other end. A connection carries one request, a line of JSON, and any
// number of lines in answer: progress, then a result or an error. The request
// "mcp" turns the connection into a stream of MCP messages instead, which is
// how several clients of standard input and output share one owner. What the
// requests mean is the business of the verbs that the server is given.
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Bounds of the protocol.
const (
	// MaxLine bounds a request and each line of an answer, in bytes. A result
	// holds a call's output at most twice, as text and as a value, and pictures.
	MaxLine = 16 << 20
	// MaxConnections bounds the connections that are served at one time.
	MaxConnections = 512

	firstLine = 10 * time.Second // for a request to arrive
	oneWrite  = 30 * time.Second // for a client to take a line
)

// upgrade is the request that turns a connection into a stream of MCP.
const upgrade = "mcp"

// version is that of the protocol. The two sides may be different builds.
const version = 1

// ErrUnavailable says that this system has no private sockets that Writ could
// use.
var ErrUnavailable = errors.New("talking to a running server is not available on this system")

// ErrNobody says that nobody listens for the state folder.
var ErrNobody = errors.New("no server listens in this state folder")

// RemoteError is what the owner answered instead of a result.
type RemoteError struct{ Message string }

func (e *RemoteError) Error() string { return e.Message }

type request struct {
	Version int             `json:"version"`
	Do      string          `json:"do"`
	With    json.RawMessage `json:"with,omitempty"`
}

// answer has exactly one of its fields.
type answer struct {
	Progress json.RawMessage `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *string         `json:"error,omitempty"`
}

// readLine reads one line of JSON and nothing behind it.
func readLine(r *bufio.Reader, into any) error {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(line)+len(piece) > MaxLine {
			return fmt.Errorf("a line has more than %d bytes", MaxLine)
		}
		line = append(line, piece...)
		switch {
		case err == nil:
			return json.Unmarshal(line, into)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if len(line) >= MaxLine {
		return fmt.Errorf("an answer has more than %d bytes", MaxLine)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
