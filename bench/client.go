package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// client speaks HTTP over one connection that stays open. It does by hand what
// it sends, because the machine is shared with the servers.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	address string
	head    []byte // of every request, up to the length of the body
	id      int
	out     []byte
	body    bytes.Buffer
}

// callWithin bounds one exchange.
const callWithin = 20 * time.Second

func dial(p *process) (*client, error) {
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("connect to a server: %w", err)
	}
	c := &client{conn: conn, in: bufio.NewReader(conn), address: p.address}
	c.setHead(p.token, "")
	return c, nil
}

func (c *client) setHead(token, session string) {
	head := "POST /mcp HTTP/1.1\r\nHost: " + c.address +
		"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	if session != "" {
		head += "Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: " + protocolVersion + "\r\n"
	}
	c.head = []byte(head + "Content-Length: ")
}

func (c *client) close() { _ = c.conn.Close() }

const protocolVersion = "2025-11-25"

// connect opens a connection and an MCP session on it.
func connect(p *process) (*client, error) {
	c, err := dial(p)
	if err != nil {
		return nil, err
	}
	response, _, err := c.post([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + protocolVersion +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`))
	if err != nil {
		c.close()
		return nil, err
	}
	c.setHead(p.token, response.Header.Get("Mcp-Session-Id"))
	if _, _, err := c.post([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// post sends a body and reads the whole answer, which is valid until the next.
func (c *client) post(body []byte) (*http.Response, []byte, error) {
	c.out = append(c.out[:0], c.head...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(append(c.out, "\r\n\r\n"...), body...)
	if err := c.conn.SetDeadline(time.Now().Add(callWithin)); err != nil {
		return nil, nil, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, nil, fmt.Errorf("send a message: %w", err)
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read an answer: %w", err)
	}
	defer response.Body.Close()
	c.body.Reset()
	if _, err := io.Copy(&c.body, response.Body); err != nil {
		return nil, nil, fmt.Errorf("read an answer: %w", err)
	}
	if response.StatusCode >= 300 {
		return nil, nil, fmt.Errorf("the server answered %s: %s", response.Status, c.body.Bytes())
	}
	return response, c.body.Bytes(), nil
}

// noteTool is the tool that is called, and noteCall what follows the id.
const (
	noteTool = "read_note"
	noteCall = `,"method":"tools/call","params":{"name":"` + noteTool + `","arguments":{"path":"note.txt","limit":10,"mode":"plain"}}}`
)

// call calls the tool and checks the answer: the id, the text, and that it is
// no error. It returns the request id of Writ's record, or "".
func (c *client) call() (record string, err error) {
	c.id++
	id := strconv.Itoa(c.id)
	_, answer, err := c.post([]byte(`{"jsonrpc":"2.0","id":` + id + noteCall))
	if err != nil {
		return "", err
	}
	switch {
	case !bytes.Contains(answer, []byte(`"id":`+id+`,`)) && !bytes.Contains(answer, []byte(`"id":`+id+`}`)),
		!bytes.Contains(answer, []byte(`"text":"`+noteText+`"`)), bytes.Contains(answer, []byte(`"isError":true`)):
		return "", fmt.Errorf("call %s was answered with %s", id, answer)
	}
	const key = `"request_id":"`
	if _, rest, found := bytes.Cut(answer, []byte(key)); found {
		text, _, _ := bytes.Cut(rest, []byte(`"`))
		record = string(text)
	}
	return record, nil
}

// listed is one tool of an answer to tools/list.
type listed struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// list asks for the tools.
func (c *client) list() ([]listed, error) {
	_, answer, err := c.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		return nil, err
	}
	if _, data, found := bytes.Cut(answer, []byte("data: ")); found { // of an event stream
		answer = data
	}
	var message struct {
		Result struct {
			Tools []listed `json:"tools"`
		} `json:"result"`
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&message); err != nil {
		return nil, fmt.Errorf("read the list of tools: %w", err)
	}
	return message.Result.Tools, nil
}
