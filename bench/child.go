package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childFlag makes this program one of the servers that Writ is compared with.
const childFlag = "-child"

// The servers.
const (
	echoServer  = "echo"  // plain JSON over net/http
	bareServer  = "bare"  // go-sdk with one tool, default settings
	gatedServer = "gated" // Writ with a tool that has no effect
)

// child serves until its standard input ends, and with it the bench.
func child(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("want a server and what it works with")
	}
	switch arguments[0] {
	case echoServer:
		return answer(http.HandlerFunc(echo))
	case bareServer:
		return answer(bare(json.RawMessage(arguments[1])))
	case gatedServer:
		return gated(arguments[1], arguments[2])
	}
	return fmt.Errorf("there is no server %q", arguments[0])
}

func answer(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	go func() {
		untilEnd()
		os.Exit(0)
	}()
	return http.Serve(listener, handler)
}

// untilEnd returns when the bench ends, or wants the server to.
func untilEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }

// noteText is what the tool returns, of every server.
const noteText = "x"

// echo reads a call as JSON, and answers with the same id and one text.
func echo(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"params"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &message)
	}
	if err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	answer, _ := json.Marshal(map[string]any{ // plain data always marshals
		"jsonrpc": "2.0", "id": message.ID, "result": map[string]any{"content": []content{{"text", noteText}}},
	})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// noteArguments are those of the tool, as its author would write them for the
// SDK.
type noteArguments struct {
	Path  string `json:"path"`
	Limit int    `json:"limit"`
	Mode  string `json:"mode"`
}

// bare is a server of the SDK as its documentation has it: typed AddTool, which
// checks the arguments against the schema, sessions, and no option changed. It
// has no gate, no record and no caller.
func bare(schema json.RawMessage) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: noteTool, Description: "Reads a note.", InputSchema: schema},
		func(context.Context, *mcp.CallToolRequest, noteArguments) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: noteText}}}, nil, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}
