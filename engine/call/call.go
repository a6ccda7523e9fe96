// Package call answers two questions: what is asked, and by whom?
//
// It holds the types that narrow on the way through the pipeline: Request
// (untrusted) becomes Prepared (valid, canonical, digested), and after an
// Authorization has been spent there is a Result. Who the caller is comes from
// the entry point's own authentication and never from arguments. The package
// is a leaf beside package value: it decides nothing, reads nothing and keeps
// no state.
package call

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/writ-dev/writ/engine/value"
)

// Level is how dangerous a call is. Higher is worse; nothing lowers a level.
type Level int

// The levels.
const (
	ReadOnly Level = iota
	Mutating
	Dangerous
	Critical
)

var levelNames = [...]string{"read_only", "mutating", "dangerous", "critical"}

// LevelNames lists the levels as files spell them, weakest first.
func LevelNames() []string { return levelNames[:] }

func (l Level) String() string {
	if l < ReadOnly || l > Critical {
		return levelNames[Critical]
	}
	return levelNames[l]
}

// MarshalText writes the level as files spell it.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level as files spell it.
func (l *Level) UnmarshalText(text []byte) error {
	parsed, err := ParseLevel(string(text))
	*l = parsed
	return err
}

// ParseLevel reads a level as files spell it. An unknown word is Critical and an error.
func ParseLevel(name string) (Level, error) {
	for i, known := range levelNames {
		if name == known {
			return Level(i), nil
		}
	}
	return Critical, fmt.Errorf("unknown risk %q: use read_only, mutating, dangerous or critical", name)
}

// Entry is the way by which a call came in.
type Entry string

// The entries. CLI is local only without --as.
const (
	EntryMCP   Entry = "mcp"
	EntryStdio Entry = "stdio"
	EntryCLI   Entry = "cli"
	EntryA2A   Entry = "a2a"
	EntryAgent Entry = "agent"
)

// Entries lists the entries as files spell them.
func Entries() []string { return []string{"mcp", "stdio", "cli", "a2a", "agent"} }

// Principal is who is really calling, as the entry point authenticated them.
type Principal struct {
	Name   string         `json:"name"`
	Roles  []string       `json:"roles,omitempty"`
	Claims map[string]any `json:"claims,omitempty"` // canonical values, declared in writ.yaml
}

// Request is one untrusted call. Arguments are the bytes that were sent; nil
// means none.
type Request struct {
	ID        string // random, made by the entry point
	Tool      string
	Arguments []byte
	Principal Principal
	Entry     Entry
	Local     bool   // only the command line without --as
	Session   string // of the entry point, or ""
	// Unattended says that nobody can be asked: what needs a person is denied
	// at once.
	Unattended bool
	// Progress, when not nil, is told how a running call fares whenever there is
	// something new. It must not block.
	Progress func(Progress)
}

// Progress is how a running call fares.
type Progress struct {
	Lines   int64 // complete lines of output so far
	HasLine bool  // Lines is meaningful: the output of the tool is lines
}

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// DigestOf sums the canonical JSON of a canonical value.
func DigestOf(v any) Digest { return sha256.Sum256(value.JSON(v)) }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads hexadecimal.
func (d *Digest) UnmarshalText(text []byte) error {
	sum, err := hex.DecodeString(string(text))
	if err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("digest %q is not a SHA-256 sum in hexadecimal", text)
	}
	*d = Digest(sum)
	return nil
}

// Effect is exactly what an executor will do, fixed before anybody decides.
type Effect struct {
	// Bound is a canonical value that holds everything an approval binds:
	// program with its identity, argv, environment names and values, URL,
	// headers, body, paths. Secrets appear by name and keyed digest only.
	Bound map[string]any
	// Preview is what an approver reads. It is never empty.
	Preview string
	// Facts are typed observations for rules, as the executor declared them.
	Facts map[string]any
	// Unresolved names what an offline preparation did not look up, such as a
	// program that is not installed. A real call never has any.
	Unresolved []string
	// Pinned belongs to the executor: fetched bytes, vetted addresses, open
	// folders. Nobody else looks inside.
	Pinned any
}

// Digest identifies the effect.
func (e Effect) Digest() Digest { return DigestOf(e.Bound) }

// Prepared is a call that is valid and canonical, whose effect is known.
type Prepared struct {
	Request    Request
	Arguments  map[string]any // canonical, paths resolved
	Scope      map[string]any // trusted dimensions, as rules and grants read them
	Effect     Effect
	Locks      []string
	Generation uint64
	ToolDigest Digest // of the tool definition
	Digest     Digest // of everything above that an approval binds, but the generation
}

// Status is how an executed or refused call ended.
type Status string

// The statuses (P-19).
const (
	Complete  Status = "complete"
	Partial   Status = "partial"
	Failed    Status = "failed"
	TimedOut  Status = "timed_out"
	Refused   Status = "refused"
	Cancelled Status = "cancelled"
)

// Outcome is what an executor brings back, before the tool's output shape is
// applied. Secrets are already redacted.
type Outcome struct {
	Status   Status
	Reason   string // for callers, when Status is not Complete; nothing internal
	ExitCode *int
	Body     Capture // standard output, response body, file content
	Errors   Capture // standard error
	// Value is a canonical value when the executor has structure to tell
	// rather than text, such as {status, content_type, body}; else nil.
	Value any
	// MediaType of Body when it is known.
	MediaType string
}

// Capture is bounded output: all of it, or its head and its tail.
type Capture struct {
	Head  []byte
	Tail  []byte // not empty only when something between was dropped
	Total int64  // bytes that were produced
}

// Truncated reports whether something was dropped.
func (c Capture) Truncated() bool { return c.Total > int64(len(c.Head)+len(c.Tail)) }

// Attachment is one picture.
type Attachment struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// Result is what the caller gets.
type Result struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	Status  Status `json:"status"`
	// Code is a stable word for programs when Success is false: unknown_tool,
	// unavailable, invalid_arguments, denied, approval_required, busy,
	// internal, frozen, or the status.
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Output is bounded text. Structured, when not nil, is the same as a
	// canonical value.
	Output      string       `json:"output"`
	Structured  any          `json:"structured,omitempty"`
	Truncated   bool         `json:"truncated,omitempty"`
	ExitCode    *int         `json:"exit_code,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	RequestID   string       `json:"request_id,omitempty"`
	// Ticket is the id of the question that people were asked, or "".
	Ticket string `json:"ticket,omitempty"`
	// Replayed says that the call was executed for an earlier, identical
	// request whose caller had left.
	Replayed   bool   `json:"replayed,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	Risk       string `json:"risk,omitempty"`
}
