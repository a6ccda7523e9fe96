package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/call"
)

// mediaTypes are the pictures that clients show.
func mediaTypes() []string { return []string{"image/png", "image/jpeg", "image/webp", "image/gif"} }

// image attaches the body when it is one picture of a known kind, by its own
// first bytes and never by what it is called (S-24). Structure is left out.
func (s applied) image(result *call.Result, outcome call.Outcome) {
	if outcome.Status != call.Complete {
		if errors := s.newText(outcome.Errors); !errors.empty() {
			result.Output, result.Truncated = errors.bound(s.maxBytes)
		}
		return
	}
	kind := sniff(outcome.Body.Head)
	switch {
	case outcome.Body.Truncated() || outcome.Body.Total > MaxImageBytes:
		result.Reason = fmt.Sprintf("the picture has %d bytes; at most %d are accepted", outcome.Body.Total, MaxImageBytes)
	case kind == "":
		result.Reason = "the output is not a picture: want one of " + strings.Join(mediaTypes(), ", ")
	case s.mediaType != "" && s.mediaType != kind:
		result.Reason = fmt.Sprintf("the output is %s, but %s was expected", kind, s.mediaType)
	default:
		result.Output = fmt.Sprintf("%s, %d bytes", kind, outcome.Body.Total)
		result.Attachments = []call.Attachment{{MediaType: kind, Data: slices.Clone(outcome.Body.Head)}}
		return
	}
	result.Status = call.Failed
}

func sniff(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	}
	return ""
}
