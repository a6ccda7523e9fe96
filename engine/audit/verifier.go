package audit

import (
	"bytes"
	"fmt"
)

// maxProblems bounds the problems that a report lists.
const maxProblems = 20

// Problem is one place where the chain does not hold.
type Problem struct {
	Position int64  `json:"position,omitempty"` // of the entry
	Sequence int64  `json:"sequence,omitempty"` // of the record
	Text     string `json:"text"`
}

// Report is what a Verifier found.
type Report struct {
	First int64 `json:"first"` // position of the first entry; 1 unless older ones were dropped
	Head  Head  `json:"head"`  // of the last entry
	// Anchored says that the end was compared with a head from elsewhere.
	// Without that, entries may be missing at the end.
	Anchored bool `json:"anchored"`
	Marks    int  `json:"marks"` // signatures that hold
	// Unchained counts records that are older than the chain.
	Unchained int64     `json:"unchained,omitempty"`
	Key       Signature `json:"key,omitempty"` // that signed the marks
	Problems  []Problem `json:"problems,omitempty"`
	More      int       `json:"more,omitempty"` // problems that are not listed
}

// Verifier follows a chain from its first entry to its last. It goes on behind
// a problem as if the stored hash were right, so that one changed record is
// one problem.
type Verifier struct {
	// Key is the public key that every mark must be signed with. Empty takes
	// that of the first mark.
	Key Signature
	// Anchor is a head that the chain must contain; zero is none.
	Anchor Head
	// Whole refuses a chain that begins behind its first entry with anything
	// but a signed mark.
	Whole bool

	report Report
	reach  bool // the anchor was passed
}

// Add takes the next entry, in ascending order of positions.
func (v *Verifier) Add(e Entry) {
	head := v.report.Head
	switch {
	case v.report.First == 0:
		v.report.First = e.Position
		if e.Position > 1 {
			if v.Whole && !e.Kind.Mark() {
				v.Problem(e.Position, e.Sequence, fmt.Sprintf("the chain begins at position %d with %s: everything before it is missing", e.Position, named(e)))
			}
			// What came before is not there to compare with.
			v.check(e, Head{Count: e.Position, Hash: e.Hash})
			return
		}
	case e.Position <= head.Count:
		v.Problem(e.Position, e.Sequence, fmt.Sprintf("%s stands at position %d, out of order: it was moved or copied", named(e), e.Position))
		return
	case e.Position > head.Count+1:
		v.Problem(head.Count+1, e.Sequence, fmt.Sprintf("%s missing before %s", positions(head.Count+1, e.Position-1), named(e)))
		v.check(e, Head{Count: e.Position, Hash: e.Hash})
		return
	}
	v.check(e, head.Next(e.Sequence, e.Digest))
}

// check compares an entry with what it must be.
func (v *Verifier) check(e Entry, want Head) {
	switch {
	case e.Event == nil && e.Kind != KindIntent && e.Kind != KindRefusal:
		v.Problem(e.Position, e.Sequence, fmt.Sprintf("%s is empty (position %d)", named(e), e.Position))
	case e.Event != nil && DigestOf(e.Event) != e.Digest, want.Hash != e.Hash:
		v.Problem(e.Position, e.Sequence, fmt.Sprintf("%s was changed, or what stands before it (position %d)", named(e), e.Position))
	case e.Kind.Mark():
		v.mark(e, want)
	}
	v.report.Head = Head{Count: e.Position, Hash: e.Hash}
	if e.Position == v.Anchor.Count {
		v.reach = true
		if e.Hash != v.Anchor.Hash {
			v.Problem(e.Position, e.Sequence, fmt.Sprintf("position %d (%s) has another hash than the head that was given: the chain was written anew", e.Position, named(e)))
		}
	}
}

func (v *Verifier) mark(e Entry, head Head) {
	if len(v.Key) == 0 {
		v.Key = e.Key
	}
	if !bytes.Equal(v.Key, e.Key) && len(e.Key) > 0 || !Signed(v.Key, head, e.Signature) {
		v.Problem(e.Position, 0, fmt.Sprintf("%s is not signed with the key of this state folder", named(e)))
		return
	}
	v.report.Marks++
}

// Problem notes what somebody else found wrong.
func (v *Verifier) Problem(position, sequence int64, text string) {
	if len(v.report.Problems) >= maxProblems {
		v.report.More++
		return
	}
	v.report.Problems = append(v.report.Problems, Problem{Position: position, Sequence: sequence, Text: text})
}

// Unchained counts a record that is older than the chain.
func (v *Verifier) Unchained() { v.report.Unchained++ }

// Report compares the end with the anchor and tells everything.
func (v *Verifier) Report() Report {
	if end := v.report.Head.Count; v.Anchor.Count > 0 && !v.reach {
		if end < v.Anchor.Count {
			v.Problem(end+1, 0, fmt.Sprintf("%s missing at the end: it was cut off", positions(end+1, v.Anchor.Count)))
		} else {
			v.Problem(v.Anchor.Count, 0, fmt.Sprintf("position %d of the head that was given is missing", v.Anchor.Count))
		}
	}
	v.report.Anchored = v.reach
	v.report.Key = v.Key
	return v.report
}

func named(e Entry) string {
	if e.Kind.Mark() {
		return fmt.Sprintf("the %s mark at position %d", e.Kind, e.Position)
	}
	return fmt.Sprintf("record %d", e.Sequence)
}

func positions(first, last int64) string {
	if first == last {
		return fmt.Sprintf("position %d is", first)
	}
	return fmt.Sprintf("positions %d to %d (%d entries) are", first, last, last-first+1)
}
