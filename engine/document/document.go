// Package document answers one question: what does the file say?
//
// There is one Go type for each kind of document, in the words of the file
// and nothing else: templates and expressions are still text, references are
// still names. Every document carries its Source, so that any later check can
// point at the line that a person wrote. The types are filled by package load
// after the grammar in schema/*.cue has accepted the document; they are never
// changed afterwards, and two generations may share them.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Header is common to all kinds. Name is unique among documents of one kind.
type Header struct {
	Kind   string  `json:"kind"`
	Name   string  `json:"name"`
	Source *Source `json:"-"`
}

// Set is everything that a configuration says, each kind in the order of its
// names.
type Set struct {
	Tools       []*Tool
	RiskRules   []*RiskRules
	Policies    []*ApprovalPolicy
	Grants      []*Grant
	Connections []*Connection
	Secrets     []*Secret
	Tests       []*Test
}

// Match selects calls. Keys are joined by and, items of a list by or. An item
// of Tools, Groups, Principals, Roles or a scope list is exact, or a prefix
// when it ends in one *. A nil Match selects everything; an empty list never
// gets past the grammar.
type Match struct {
	Tools      []string            `json:"tools,omitempty"`
	Groups     []string            `json:"groups,omitempty"`
	Labels     map[string][]string `json:"labels,omitempty"`
	Principals []string            `json:"principals,omitempty"`
	Roles      []string            `json:"roles,omitempty"`
	Entries    []string            `json:"entries,omitempty"`
	Scope      map[string][]string `json:"scope,omitempty"`
	MinRisk    string              `json:"min_risk,omitempty"`
	// AllowNone accepts a pattern that selects no tool at present.
	AllowNone bool `json:"allow_none,omitempty"`
}

// RiskRules raises the risk of calls.
type RiskRules struct {
	Header
	Match *Match     `json:"match,omitempty"`
	Rules []RiskRule `json:"rules"`
}

// RiskRule is one rule: when When holds, the call is at least of level Risk.
// Fires and Silent are examples that are checked when the document is loaded:
// partial argument objects, or the long form with an "args" object and scope,
// principal or entry beside it.
type RiskRule struct {
	ID      string            `json:"id"`
	When    string            `json:"when"`
	Risk    string            `json:"risk"`
	Message string            `json:"message"`
	Fires   []json.RawMessage `json:"fires,omitempty"`
	Silent  []json.RawMessage `json:"silent,omitempty"`
}

// ApprovalPolicy says how strongly calls are confirmed and which are denied.
type ApprovalPolicy struct {
	Header
	Match   *Match                 `json:"match,omitempty"`
	Posture string                 `json:"posture,omitempty"`
	Confirm map[string]string      `json:"confirm,omitempty"`
	Entries map[string]EntryPolicy `json:"entries,omitempty"`
	Deny    []DenyRule             `json:"deny,omitempty"`
	// Who must approve, and for how long they are asked.
	Approvers *Approvers `json:"approvers,omitempty"`
	Pending   *Pending   `json:"pending,omitempty"`
	// Grants, when false, lets no grant stand in for a person.
	Grants *bool `json:"grants,omitempty"`
}

// Approvers is a set of people of whom Count distinct ones must say yes. Roles
// are templates that may name the caller's claims.
type Approvers struct {
	People []string `json:"people,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	Count  int      `json:"count,omitempty"` // 0 means 1
	// Self is never, terminal (the default) or always; false and true of the
	// file are never and always.
	Self   SelfApproval `json:"self,omitempty"`
	Reason bool         `json:"reason,omitempty"`
}

// SelfApproval says whether who asks may approve.
type SelfApproval string

// UnmarshalJSON reads a boolean or the word terminal.
func (s *SelfApproval) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*s = "always"
	case "false":
		*s = "never"
	default:
		return json.Unmarshal(data, (*string)(s))
	}
	return nil
}

// Pending bounds how long people are asked; zero says nothing.
type Pending struct {
	Timeout     Duration `json:"timeout,omitempty"`
	AnswerAfter Duration `json:"answer_after,omitempty"`
	Collect     Duration `json:"collect,omitempty"`
	Max         int      `json:"max,omitempty"`
}

// EntryPolicy narrows a policy for one entry point.
type EntryPolicy struct {
	Posture string `json:"posture,omitempty"`
	// Unattended, when "deny", denies at once what would need a person.
	Unattended string `json:"unattended,omitempty"`
}

// DenyRule refuses every call for which When holds or cannot be evaluated.
type DenyRule struct {
	ID      string `json:"id"`
	When    string `json:"when"`
	Message string `json:"message"`
}

// Connection is an HTTP service that tools call by name.
type Connection struct {
	Header
	HTTP  *ConnectionHTTP `json:"http"`
	Rate  *Rate           `json:"rate,omitempty"`
	Retry *Retry          `json:"retry,omitempty"`
}

// ConnectionHTTP is the address and the headers that every call sends. Allow
// widens the guard against internal addresses: "loopback", "private", a host
// name, or a CIDR range.
type ConnectionHTTP struct {
	BaseURL   string            `json:"base_url"`
	Headers   map[string]string `json:"headers,omitempty"`
	Allow     []string          `json:"allow,omitempty"`
	Redirects int               `json:"redirects,omitempty"`
}

// Rate spaces the calls of a connection: at most Calls in each period Every.
// A call that would exceed it waits within its own timeout.
type Rate struct {
	Calls int      `json:"calls"`
	Every Duration `json:"every"`
}

// Retry repeats a failed call at most Max times. WhenFailed lists "connect"
// and HTTP status codes; codes count only for idempotent or read_only tools.
type Retry struct {
	Max        int      `json:"max"`
	WhenFailed []string `json:"when_failed"`
	Backoff    Duration `json:"backoff,omitempty"`
}

// Secret names a value that is read from the environment of the server or
// from a file beside the document, and who may use it.
type Secret struct {
	Header
	Env  string    `json:"env,omitempty"`
	File string    `json:"file,omitempty"`
	For  SecretFor `json:"for"`
}

// SecretFor lists the connections and tools that may use a secret.
type SecretFor struct {
	Connections []string `json:"connections,omitempty"`
	Tools       []string `json:"tools,omitempty"`
}

// Test is a list of calls with the answers that their author expects.
type Test struct {
	Header
	Given TestGiven  `json:"given"`
	Cases []TestCase `json:"cases"`
}

// TestGiven holds for every case of a Test. Result is raw output for cases
// that expect a shaped output.
type TestGiven struct {
	Tool      string         `json:"tool"`
	Principal *TestPrincipal `json:"principal,omitempty"`
	Entry     string         `json:"entry,omitempty"`
	Now       string         `json:"now,omitempty"`
	Result    string         `json:"result,omitempty"`
}

// TestPrincipal is who calls in a test. Claims are every other key of the object.
type TestPrincipal struct {
	Name   string         `json:"name"`
	Roles  []string       `json:"roles,omitempty"`
	Claims map[string]any `json:"-"`
}

// UnmarshalJSON keeps the keys other than name and roles as claims. It looks
// the two up by their exact spelling, so that a claim NAME is not taken for one.
func (p *TestPrincipal) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for key, into := range map[string]any{"name": &p.Name, "roles": &p.Roles} {
		if text, ok := raw[key]; ok {
			if err := json.Unmarshal(text, into); err != nil {
				return fmt.Errorf("read %s of the principal: %w", key, err)
			}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&p.Claims); err != nil {
		return err
	}
	delete(p.Claims, "name")
	delete(p.Claims, "roles")
	return nil
}

// TestCase is one call and what must come of it.
type TestCase struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Result string          `json:"result,omitempty"`
	Expect TestExpect      `json:"expect"`
}

// TestExpect is what must come of a call. Decision is compulsory: permit,
// require_approval, deny or rejected. A nil field is not asserted; Rules, when
// given, is the exact set of rules that fire.
type TestExpect struct {
	Decision  string          `json:"decision"`
	Risk      string          `json:"risk,omitempty"`
	Rules     []string        `json:"rules,omitempty"`
	Confirm   string          `json:"confirm,omitempty"`
	SettledBy string          `json:"settled_by,omitempty"`
	Argv      []string        `json:"argv,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// Duration is written as Go writes durations: 500ms, 10s, 2m, 1h.
type Duration time.Duration

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("read duration %q: %w", text, err)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Size is a number of bytes, written with one of the units B, KiB, MiB, GiB.
type Size int64

// ParseSize reads a size such as 64KiB.
func ParseSize(text string) (Size, error) {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > (1<<62)/unit.bytes {
			break
		}
		return Size(n * unit.bytes), nil
	}
	return 0, fmt.Errorf("size %q: write a whole number and B, KiB, MiB or GiB, such as 64KiB", text)
}

// UnmarshalJSON reads the text form.
func (s *Size) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := ParseSize(text)
	*s = parsed
	return err
}

// MarshalJSON writes the largest unit that is exact.
func (s Size) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

func (s Size) String() string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n := int64(s); n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
