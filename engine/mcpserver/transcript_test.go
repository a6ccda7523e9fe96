package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/mcpserver"
)

var update = flag.Bool("update", false, "write the responses of transcripts anew")

// shown are the response headers that a transcript keeps.
var shown = []string{"Content-Type", "Www-Authenticate", "Allow", "Retry-After", "Mcp-Session-Id", "Access-Control-Allow-Origin"}

// TestTranscripts plays testdata/*.txtar: a file "> what" is sent as it is,
// with the usual headers added when they are absent ("-Name" leaves one out),
// and "<" is what must come back.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := transcriptBench(t)
	session := "none"
	for i := 0; i+1 < len(archive.Files); i += 2 {
		ask, answer := archive.Files[i], &archive.Files[i+1]
		request := strings.NewReplacer("$HOST", b.host, "$SESSION", session).Replace(string(ask.Data))
		response := send(t, b.host, request)
		if id := response.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		got := strings.NewReplacer(b.host, "$HOST", session, "$SESSION").Replace(transcribe(t, response))
		if *update {
			answer.Data = []byte(got)
			continue
		}
		if diff := cmp.Diff(string(answer.Data), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ask.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func transcriptBench(t *testing.T) *bench {
	b := newBench(t, nil)
	pixel := []byte{0x89, 'P', 'N', 'G'}
	b.pipe.tools["picture"] = func(_ context.Context, r call.Request) call.Result {
		result := done(r, "")
		result.Attachments = []call.Attachment{{MediaType: "image/png", Data: pixel}}
		return result
	}
	b.pipe.tools["fail"] = func(_ context.Context, r call.Request) call.Result {
		code := 3
		return call.Result{
			Tool: r.Tool, Status: call.Partial, Code: "partial", Reason: "exit code 3",
			Output: "half of it", ExitCode: &code, RequestID: r.ID, Generation: 1, Risk: "read_only",
		}
	}
	b.pipe.tools["boom"] = func(context.Context, call.Request) call.Result { panic("secret of the house") }
	b.pipe.tools["absent"] = func(_ context.Context, r call.Request) call.Result {
		return call.Result{Tool: r.Tool, Status: call.Refused, Code: "unavailable", Reason: "the tool is not available: needs the program nowhere", RequestID: r.ID}
	}
	absent := plainTool("absent")
	absent.Unavailable = "needs the program nowhere"
	b.shelf.publish(plainTool("absent-minded"), absent, plainTool("boom"), plainTool("echo"), plainTool("fail"),
		plainTool("picture"), plainTool("writ_fake"))
	b.server.Refresh()
	return b
}

// send writes a request byte by byte as the transcript has it.
func send(t *testing.T, host, text string) *http.Response {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	body = strings.TrimSuffix(body, "\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	out := lines[0] + " HTTP/1.1\r\n"
	for _, usual := range []string{
		"Host: " + host, "Authorization: Bearer alice-token", "Content-Type: application/json",
		"Accept: application/json, text/event-stream", fmt.Sprintf("Content-Length: %d", len(body)),
	} {
		name, _, _ := strings.Cut(usual, ":")
		given := false
		for _, line := range lines[1:] {
			given = given || strings.HasPrefix(line, name+":") || line == "-"+name
		}
		if !given {
			out += usual + "\r\n"
		}
	}
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "-") {
			out += line + "\r\n"
		}
	}
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, out+"Connection: close\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(lines[0], " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func transcribe(t *testing.T, response *http.Response) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, response.StatusCode)
	for _, name := range shown {
		if values := response.Header.Values(name); len(values) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, "\n")
		prefix := ""
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			prefix, line = "data: ", rest
		}
		out.WriteString(prefix + pretty(line) + "\n")
	}
	return out.String()
}

// pretty breaks long JSON into lines that a reviewer can read.
func pretty(line string) string {
	var b bytes.Buffer
	if len(line) < 100 || json.Indent(&b, []byte(line), "", " ") != nil {
		return line
	}
	return b.String()
}

// TestInspect reads what differs from build to build.
func TestInspect(t *testing.T) {
	b := newBench(t, nil)
	result, err := b.connect(t, nil).CallTool(t.Context(), callParams("writ_inspect", `{}`))
	if err != nil || result.IsError {
		t.Fatalf("%v %v", result, err)
	}
	var seen mcpserver.Inspection
	if err := json.Unmarshal([]byte(firstText(result)), &seen); err != nil {
		t.Fatal(err)
	}
	if seen.Version != "1.2.3" || seen.Generation != 1 || seen.Tools != 1 {
		t.Errorf("got %+v", seen)
	}
	if seen.Build.SHA256 == nil || len(*seen.Build.SHA256) != 64 || seen.Build.Go == "" {
		t.Errorf("build is not identified: %+v", seen.Build)
	}
	if len(seen.ProtocolVersions) == 0 || seen.ProtocolVersions[0] != "2026-07-28" {
		t.Errorf("protocol versions: %v", seen.ProtocolVersions)
	}
}
