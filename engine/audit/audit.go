// Package audit answers one question: what happened?
//
// Every call leaves one Record. Above read_only its intent is durable before
// anything is executed, and the outcome completes the same record; a read-only
// call, and a call that was never executed, leaves one outcome. Room for the
// outcome is reserved before execution, so that a full queue or a full disk
// refuses a call instead of losing what it did (contract P-82 to P-87).
//
// A record has a fixed list of fields and no place for arguments, previews,
// output, error text or secrets: what could be guessed from a plain sum is
// kept as a keyed digest only. The package defines what is written and how it
// is asked for; where it is kept is the business of room store.
package audit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

// UnsupportedTool stands in a record for a tool that does not exist, because
// its name is text of the caller (contract P-86).
const UnsupportedTool = "unsupported"

// MaxRules bounds the rule ids that one record lists. RulesFired counts all.
const MaxRules = 64

// MaxText bounds every text of a record, in bytes. Longer text is cut.
const MaxText = 256

// Result is how a call ended, in the words of the records (contract P-84).
type Result string

// The results. Cancelled is also that of a call which was interrupted.
const (
	Success   Result = "success"
	Error     Result = "error"
	Refused   Result = "refused"
	TimedOut  Result = "timed_out"
	Cancelled Result = "cancelled"
)

// Results lists the results as records and filters spell them.
func Results() []string { return []string{"success", "error", "refused", "timed_out", "cancelled"} }

// ResultOf says how a status is recorded. A partial effect is an error.
func ResultOf(status call.Status) Result {
	switch status {
	case call.Complete:
		return Success
	case call.Refused:
		return Refused
	case call.TimedOut:
		return TimedOut
	case call.Cancelled:
		return Cancelled
	}
	return Error
}

// Phase says how far a record has come.
type Phase string

// The phases. Intent: the call was about to be executed and has not ended.
// Interrupted: the process died between the two, so what happened is unknown.
const (
	Intent      Phase = "intent"
	Outcome     Phase = "outcome"
	Interrupted Phase = "interrupted"
)

// Record is what is kept of one call. Sequence and Phase are set by the
// journal. Texts that come from a configuration or from the pipeline are
// short words; see MaxText.
type Record struct {
	Sequence   int64      `json:"sequence,omitempty"`
	Phase      Phase      `json:"phase,omitempty"`
	RequestID  string     `json:"request_id"`
	Tool       string     `json:"tool"` // UnsupportedTool when there is no such tool
	Principal  string     `json:"principal"`
	Entry      call.Entry `json:"entry"`
	Session    string     `json:"session,omitempty"` // Key.Session
	Started    time.Time  `json:"started"`
	Generation uint64     `json:"generation"`
	// ToolDigest is a plain sum, because definitions are no secret. The other
	// two are made by a Key.
	ToolDigest     string     `json:"tool_digest,omitempty"`
	ArgumentDigest string     `json:"argument_digest,omitempty"`
	EffectDigest   string     `json:"effect_digest,omitempty"`
	Risk           call.Level `json:"risk"`
	Rules          []string   `json:"rules,omitempty"`       // ids that fired, at most MaxRules
	RulesFired     int        `json:"rules_fired,omitempty"` // all that fired
	Decision       string     `json:"decision,omitempty"`
	SettledBy      string     `json:"settled_by,omitempty"`
	Confirmation   string     `json:"confirmation,omitempty"`
	Approval       string     `json:"approval,omitempty"` // the words of contract P-83
	Grant          string     `json:"grant,omitempty"`    // that released the call

	Result     Result      `json:"result,omitempty"`
	Status     call.Status `json:"status,omitempty"`
	Code       string      `json:"code,omitempty"`
	DurationMS int64       `json:"duration_ms"`
	Stages     Stages      `json:"stages"`
	UID        int         `json:"uid"` // of this process (contract P-87)
	// Count is how many identical refusals the record stands for, when more
	// than one. All but it is that of the first.
	Count int64 `json:"count,omitempty"`
}

// Stages is how long each stage took, in microseconds. A stage that was not
// reached took 0.
type Stages struct {
	Prepare int64 `json:"prepare_us"`
	Assess  int64 `json:"assess_us"`
	Approve int64 `json:"approve_us"`
	Execute int64 `json:"execute_us"`
}

// Bounded returns the record with every text cut to MaxText and at most
// MaxRules rules, so that nothing a caller or a file says makes it large.
func (r Record) Bounded() Record {
	for _, text := range []*string{&r.RequestID, &r.Tool, &r.Principal, (*string)(&r.Entry), &r.Session,
		&r.ToolDigest, &r.ArgumentDigest, &r.EffectDigest, &r.Decision, &r.SettledBy, &r.Confirmation,
		&r.Approval, &r.Grant, (*string)(&r.Result), (*string)(&r.Status), &r.Code} {
		*text = cut(*text)
	}
	r.RulesFired = max(r.RulesFired, len(r.Rules))
	if !slices.ContainsFunc(r.Rules, func(id string) bool { return len(id) > MaxText }) {
		r.Rules = r.Rules[:min(len(r.Rules), MaxRules)]
		return r
	}
	rules := make([]string, 0, min(len(r.Rules), MaxRules))
	for _, id := range r.Rules[:min(len(r.Rules), MaxRules)] {
		rules = append(rules, cut(id))
	}
	r.Rules = rules
	return r
}

// Journal takes records. It is safe for concurrent use.
type Journal interface {
	// Reserve makes room for all that one call will record. It is taken
	// before anything else is done for the call. It fails, with a reason that
	// an operator can act on, while the journal cannot promise to keep a
	// record: its queue is full, its last write failed, or it is closed.
	Reserve(ctx context.Context) (Slot, error)
}

// Slot is the room of one call. It is used by one goroutine at a time.
type Slot interface {
	// Intent returns nil once the record is durable; only then may the call
	// be executed. After an error, or when ctx ends first, it may not.
	// At most one intent is given to a slot.
	Intent(ctx context.Context, record Record) error
	// Outcome completes the record and gives the room back. A refusal that is
	// identical to one of the last minute may be counted in its record. After an intent,
	// and for any record above read_only, it returns once the outcome is
	// durable or ctx has ended; otherwise as soon as it is queued, and the
	// record is durable within 50 ms. When it fails, the record is kept in
	// memory and written as soon as that is possible again.
	Outcome(ctx context.Context, record Record) error
	// Release gives back a room that no outcome used. It does nothing after
	// Outcome, so it can be deferred. An intent without outcome stays an
	// intent until the next start reports it as interrupted.
	Release()
}

// ErrNotReleased says that a grant has no use left, was revoked, or does not
// cover the tool as it is now. Nothing was recorded.
var ErrNotReleased = errors.New("the grant does not release the call")

// Use is one use of a grant. Uses is what the configuration allows in all, 0
// for any number. Tool and Digest are given when only a pattern of the grant
// selects the tool.
type Use struct {
	Grant        string
	Uses         int64
	Tool, Digest string
}

// Spender is a Slot that can count uses of grants.
type Spender interface {
	// IntentUsing is Intent that also counts a use, both in one transaction. It
	// fails with ErrNotReleased when there is none to count; then another intent
	// may follow. After any other error none may, and the call must not be
	// executed.
	IntentUsing(ctx context.Context, record Record, use Use) error
}

// cut shortens s to MaxText bytes at a character.
func cut(s string) string {
	if len(s) <= MaxText {
		return s
	}
	end := MaxText
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end]
}
