package policy

import (
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Approvers is one set of people of whom Count distinct ones must say yes.
// Without People and Roles everybody who holds an approver's credential is in
// the set.
type Approvers struct {
	People []string `json:"people,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	Count  int      `json:"count"` // 0 means 1
	Self   Self     `json:"-"`
	Reason bool     `json:"reason,omitempty"` // a yes needs a reason
}

// Self says whether who asks may also approve.
type Self int

// SelfAtTerminal, the zero value, lets the operating-system user who runs Writ
// approve at a terminal what a program asked for in that user's name: the
// person and the program are told apart by the channel.
const (
	SelfAtTerminal Self = iota
	SelfNever
	SelfAlways
)

// AllowsSelf reports whether an approver of the requester's own name counts.
func (a Approvers) AllowsSelf(terminal bool) bool {
	return a.Self == SelfAlways || a.Self == SelfAtTerminal && terminal
}

// Includes reports whether a person is in the set.
func (a Approvers) Includes(name string, roles []string) bool {
	if len(a.People)+len(a.Roles) == 0 {
		return true
	}
	return slices.Contains(a.People, name) || slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(a.Roles, role) })
}

// Pending bounds how long people are asked. Where several policies match, the
// shortest of each and the smallest maximum hold.
type Pending struct {
	Timeout     time.Duration // how long a ticket stays open
	AnswerAfter time.Duration // when a waiting caller is told that it is pending
	Collect     time.Duration // how long an approval waits for its caller
	Max         int           // pending tickets in all
}

// The built-in bounds (contract S-48; a client gives up after 60 s), and the
// hard maxima of what a policy may write.
const (
	DefaultTimeout     = 120 * time.Second
	DefaultAnswerAfter = 45 * time.Second
	DefaultCollect     = 120 * time.Second
	DefaultMaxPending  = 8
	HardTimeout        = 24 * time.Hour
	HardMaxPending     = 64
)

// asking is what one policy says about whom to ask and for how long.
type asking struct {
	sets       []approverSet
	pending    document.Pending
	noGrants   bool
	unattended map[call.Entry]bool
}

type approverSet struct {
	Approvers
	roles []*template.Template
}

// ask gathers from the policies that match a call whom to ask. A set of
// approvers that cannot be named is an error.
func ask(policies []*Bound, in Input, decision *Decision) error {
	decision.Grants = true
	pending := document.Pending{}
	lookup := template.Values(map[string]any{"principal": principalValues(in.Subject.Principal)})
	for _, p := range policies {
		decision.Grants = decision.Grants && !p.asking.noGrants
		decision.Unattended = decision.Unattended || p.asking.unattended[in.Subject.Entry]
		pending = strictest(pending, p.asking.pending)
		for _, set := range p.asking.sets {
			named := set.Approvers
			named.Roles = nil
			for _, role := range set.roles {
				text, err := role.Text(lookup)
				if err != nil {
					return err
				}
				named.Roles = append(named.Roles, text)
			}
			decision.Approvers = append(decision.Approvers, named)
			decision.Grants = decision.Grants && named.Count <= 1
		}
	}
	decision.Pending = Pending{
		Timeout:     orElse(time.Duration(pending.Timeout), DefaultTimeout),
		AnswerAfter: orElse(time.Duration(pending.AnswerAfter), DefaultAnswerAfter),
		Collect:     orElse(time.Duration(pending.Collect), DefaultCollect),
		Max:         orElse(pending.Max, DefaultMaxPending),
	}
	return nil
}

func strictest(a, b document.Pending) document.Pending {
	return document.Pending{
		Timeout: least(a.Timeout, b.Timeout), AnswerAfter: least(a.AnswerAfter, b.AnswerAfter),
		Collect: least(a.Collect, b.Collect), Max: least(a.Max, b.Max),
	}
}

// least is the smaller of two numbers, where zero means that nothing is said.
func least[T int | document.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func principalValues(p call.Principal) map[string]any {
	values := make(map[string]any, 1+len(p.Claims))
	for name, claim := range p.Claims {
		values[name] = claim
	}
	values["name"] = p.Name
	return values
}

// compileAsking reads the keys of a policy that say whom to ask. Claims are
// the typed claims that roles may name.
func (p *Policy) compileAsking(doc *document.ApprovalPolicy, c *compiling) {
	p.asking.noGrants = doc.Grants != nil && !*doc.Grants
	p.asking.unattended = map[call.Entry]bool{}
	for _, name := range value.Keys(doc.Entries) {
		p.asking.unattended[call.Entry(name)] = doc.Entries[name].Unattended == "deny"
	}
	if doc.Pending != nil {
		p.asking.pending = *doc.Pending
		if limit := document.Duration(HardTimeout); doc.Pending.Timeout > limit {
			c.problems.Errorf(doc.Source.At("pending", "timeout"), "too-long", "a ticket stays open for at most %s", HardTimeout)
		}
		if doc.Pending.Max > HardMaxPending {
			c.problems.Errorf(doc.Source.At("pending", "max"), "too-many", "at most %d tickets can be pending", HardMaxPending)
		}
	}
	a := doc.Approvers
	if a == nil {
		return
	}
	set := approverSet{Approvers: Approvers{People: a.People, Count: a.Count, Reason: a.Reason, Self: selfOf(a.Self)}}
	for i, role := range a.Roles {
		at := doc.Source.At("approvers", "roles", i)
		parsed, problems := template.Parse(role, at)
		c.problems = append(c.problems, problems...)
		if problems.HasErrors() {
			continue
		}
		c.problems = append(c.problems, parsed.Check(c.principal(), template.Word)...)
		set.roles = append(set.roles, parsed)
	}
	if len(a.Roles) == 0 && len(a.People) > 0 && a.Count > len(a.People) {
		c.problems.Errorf(doc.Source.At("approvers", "count"), "too-few", "%d people cannot give %d approvals", len(a.People), a.Count)
	}
	p.asking.sets = append(p.asking.sets, set)
}

func selfOf(word document.SelfApproval) Self {
	switch word {
	case "never":
		return SelfNever
	case "always":
		return SelfAlways
	}
	return SelfAtTerminal
}
