package mcpserver

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/value"
)

// maxReason is in bytes (S-25).
const maxReason = 2000

// resultMeta is the key of what a result says beside its content.
const resultMeta = "io.github.writ-dev/result"

// present turns a result into what clients see: text, structure when it is an
// object, pictures, and isError with the reason first on anything but success.
func present(r call.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{
		IsError: !r.Success,
		Meta:    mcp.Meta{resultMeta: summarize(r)},
	}
	if !r.Success {
		reason := r.Reason
		if reason == "" {
			reason = "the call ended as " + string(r.Status)
		}
		out.Content = append(out.Content, &mcp.TextContent{Text: cut(reason, maxReason)})
	}
	if r.Output != "" || r.Success && len(r.Attachments) == 0 {
		out.Content = append(out.Content, &mcp.TextContent{Text: r.Output})
	}
	for _, a := range r.Attachments {
		out.Content = append(out.Content, &mcp.ImageContent{MIMEType: a.MediaType, Data: a.Data})
	}
	switch structured := r.Structured.(type) {
	case map[string]any:
		out.StructuredContent = json.RawMessage(value.JSON(structured))
	case json.RawMessage: // the server's own answers
		out.StructuredContent = structured
	}
	return out
}

// summary is what programs want to know of a result without reading prose.
type summary struct {
	Success    bool        `json:"success"`
	Status     call.Status `json:"status"`
	Code       string      `json:"code,omitempty"`
	Truncated  bool        `json:"truncated,omitempty"`
	ExitCode   *int        `json:"exit_code,omitempty"`
	RequestID  string      `json:"request_id,omitempty"`
	Generation uint64      `json:"generation,omitempty"`
	Risk       string      `json:"risk,omitempty"`
}

func summarize(r call.Result) summary {
	return summary{r.Success, r.Status, r.Code, r.Truncated, r.ExitCode, r.RequestID, r.Generation, r.Risk}
}

// cut shortens a text to at most n bytes without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
