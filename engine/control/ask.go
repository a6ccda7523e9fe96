package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// Question is one request. Progress and Into may be nil.
type Question struct {
	Do       string
	With     any                   // encoded as JSON
	Progress func(json.RawMessage) // called for each line of progress
	Into     any                   // the result is decoded into it
}

// Ask puts a question to the owner of the state folder. It fails with
// ErrNobody when nobody listens, and with a *RemoteError when the owner says
// no. Ending the context makes the owner cancel what it does.
func Ask(ctx context.Context, dir string, q Question) error {
	conn, reader, err := open(ctx, dir, q.Do, q.With)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for {
		result, progress, err := next(ctx, reader)
		switch {
		case err != nil:
			return err
		case progress != nil:
			if q.Progress != nil {
				q.Progress(progress)
			}
		case q.Into == nil:
			return nil
		default:
			if err := json.Unmarshal(result, q.Into); err != nil {
				return fmt.Errorf("read answer of the running server: %w", err)
			}
			return nil
		}
	}
}

// Attach opens a stream of MCP messages to the owner of the state folder.
func Attach(ctx context.Context, dir string) (net.Conn, error) {
	conn, reader, err := open(ctx, dir, upgrade, nil)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, _, err := next(ctx, reader); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return buffered{conn, reader}, nil
}

func open(ctx context.Context, dir, do string, with any) (net.Conn, *bufio.Reader, error) {
	r := request{Version: version, Do: do}
	if with != nil {
		data, err := json.Marshal(with)
		if err != nil {
			return nil, nil, fmt.Errorf("write request: %w", err)
		}
		r.With = data
	}
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	if err := samePeer(conn); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	if err := writeLine(conn, r); err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("ask the running server: %w", err)
	}
	return conn, bufio.NewReader(conn), nil
}

// next reads one line of an answer; progress is nil when it was the last.
func next(ctx context.Context, reader *bufio.Reader) (result, progress json.RawMessage, err error) {
	var a answer
	if err := readLine(reader, &a); err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			return nil, nil, errors.New("the running server ended without an answer; its log has the reason")
		}
		return nil, nil, fmt.Errorf("read answer of the running server: %w", err)
	}
	if a.Error != nil {
		return nil, nil, &RemoteError{*a.Error}
	}
	return a.Result, a.Progress, nil
}
