// Package catalog answers one question: what is in force now?
//
// A Catalog is one immutable generation: every compiled tool with the rules
// and policies that can apply to it. It is built whole by a Compiler, which
// checks everything that needs more than one document, and is published by
// swapping one pointer. A call reads the pointer and works with what it got;
// nothing in a generation changes afterwards.
package catalog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/tool"
)

// Catalog is one generation.
type Catalog struct {
	Generation uint64
	Published  time.Time
	Documents  int // documents that were read
	RuleCount  int // risk rules and deny rules
	Roots      *root.Set
	Secrets    executor.Secrets
	Tests      []*document.Test
	Rules      []*risk.Rule     // all of them, by id
	Policies   []*policy.Policy // all of them, by name
	Grants     []*Grant         // all of them, by name
	// DangerousGrants says that the configuration lets grants release dangerous
	// calls.
	DangerousGrants bool
	// Skipped names, for each rule id, the tools that its selector covers but
	// that lack a field which the rule reads, with the reason.
	Skipped map[string]map[string]string

	tools  []*Tool
	byName map[string]*Tool
}

// Tool is a compiled tool as it stands in one generation.
type Tool struct {
	*tool.Tool
	Enabled     bool
	Unavailable string // why it cannot be called on this machine, or ""
	// Worst is the highest level that any applicable rule can reach.
	Worst    call.Level
	Rules    []risk.Bound
	Policies []policy.Bound
	Grants   []grant.Bound // by name
}

// Tool finds a tool by name; nil when there is none.
func (c *Catalog) Tool(name string) *Tool { return c.byName[name] }

// Tools lists all tools by name, also those that cannot be called. The list
// is not to be changed.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Callable counts the tools that can be called.
func (c *Catalog) Callable() int {
	n := 0
	for _, t := range c.tools {
		if t.Callable() {
			n++
		}
	}
	return n
}

// Callable reports whether the tool is switched on and available.
func (t *Tool) Callable() bool { return t.Enabled && t.Unavailable == "" }

// Annotations are hints for clients. They state the worst that any applicable
// rule can reach.
type Annotations struct {
	ReadOnly    bool `json:"read_only"`
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"open_world"`
}

// Annotations derives the hints. What is not read-only may be destructive,
// since only additive updates could say otherwise and nobody can check that. Only
// the file kind is known to stay on this machine.
func (t *Tool) Annotations() Annotations {
	readOnly := t.Worst == call.ReadOnly && !t.PerCall
	return Annotations{
		ReadOnly:    readOnly,
		Destructive: !readOnly,
		Idempotent:  t.Idempotent || readOnly,
		OpenWorld:   t.Kind != "file",
	}
}

// ShownDescription is what clients read: the description, the checks across
// arguments and the examples.
func (t *Tool) ShownDescription() string {
	text := t.Description
	for _, refuse := range t.Document.Refuse {
		text += "\n" + refuse.Message
	}
	for _, example := range t.Document.Examples {
		text += "\nExample: "
		if example.Note != "" {
			text += example.Note + ": "
		}
		text += string(example.Args)
	}
	return text
}

// Live is the generation in force. The zero value has none.
type Live struct {
	current     atomic.Pointer[Catalog]
	mu          sync.Mutex
	subscribers map[chan struct{}]struct{}
}

// Current returns the generation in force, or nil before the first Publish.
func (l *Live) Current() *Catalog { return l.current.Load() }

// Publish puts a generation in force and tells every subscriber.
func (l *Live) Publish(c *Catalog) {
	l.current.Store(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	for subscriber := range l.subscribers {
		select {
		case subscriber <- struct{}{}:
		default: // it has not yet seen the one before, and will read the newest
		}
	}
}

// Subscribe returns a channel that receives after a Publish, and what ends the
// subscription. Several publications may come as one.
func (l *Live) Subscribe() (changes <-chan struct{}, cancel func()) {
	subscriber := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subscribers == nil {
		l.subscribers = map[chan struct{}]struct{}{}
	}
	l.subscribers[subscriber] = struct{}{}
	return subscriber, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subscribers, subscriber)
	}
}
