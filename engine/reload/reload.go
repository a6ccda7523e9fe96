// Package reload answers one question: when do files become the catalog?
//
// A Reloader builds a generation of the files as they are, and puts it in
// force when nothing in it is wrong; otherwise the last good one stays and the
// mistakes are kept for whoever asks. It looks for changes in two ways at
// once: the file system tells it, and it compares a fingerprint of everything
// that was read at intervals, because the first way misses changes on network
// file systems and behind some mounts. What a generation is, and how it is
// built, is the business of the Build function that it is given: this room
// reads names and dates of files, never their content.
package reload

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/diag"
)

// Defaults. The settle window gathers the files of one edit.
const (
	DefaultSettle = 50 * time.Millisecond // without a change
	// DefaultLongest ends a settle window although changes go on.
	DefaultLongest = time.Second
	DefaultPoll    = 2 * time.Second
)

// Candidate is what a build made of the files.
type Candidate struct {
	// Commit puts the generation in force and returns its number. It is nil
	// when Problems has errors.
	Commit func() uint64
	// Unchanged says that the generation in force says the same.
	Unchanged bool
	// Loosens names what the candidate takes away that kept calls in check.
	Loosens  []string
	Problems diag.List
	// Watch lists the files and folders that the candidate was built from,
	// also those that were missing. Empty means the same as before.
	Watch []string
}

// Build reads the files and makes a candidate. It is never called twice at
// the same time.
type Build func(ctx context.Context) Candidate

// Options configure a Reloader. Build and Log are needed.
type Options struct {
	Build Build
	Log   *slog.Logger
	// Watch lists the files and folders that the first build will read, as far
	// as they are known.
	Watch []string
	// Manual leaves reloading to Reload alone.
	Manual bool
	// PollOnly does without notifications of the file system.
	PollOnly              bool
	Settle, Longest, Poll time.Duration // 0 means the default
	Now                   func() time.Time
	// Observe, when not nil, is told the generation in force after each
	// attempt, and whether the files are valid.
	Observe func(generation uint64, ok bool)
}

// Status is how reloading fares.
type Status struct {
	Mode       string    `json:"mode"` // watch, poll or manual
	Generation uint64    `json:"generation"`
	Published  time.Time `json:"published,omitzero"`
	// Valid says that the files, as they were last read, are in force.
	Valid bool `json:"valid"`
	// Problems are those of the files as they were last read, warnings
	// included.
	Problems diag.List `json:"problems,omitempty"`
	Read     time.Time `json:"read,omitzero"` // when they were last read
	Attempts uint64    `json:"attempts"`
}

// Outcome is what one reload came to.
type Outcome struct {
	Generation uint64 `json:"generation"` // in force now
	// Published says that this reload put it in force.
	Published bool      `json:"published"`
	Loosens   []string  `json:"loosens,omitempty"`
	Problems  diag.List `json:"problems,omitempty"`
}

// Reloader keeps a catalog up with its files. It is safe for concurrent use.
type Reloader struct {
	options Options

	building sync.Mutex // held during a build; guards the fields below it
	watch    []string
	seen     fingerprint

	mu       sync.Mutex // guards status
	status   Status
	reported string // the problems that were last logged
}

// New makes a Reloader that has read nothing yet.
func New(o Options) *Reloader {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&o.Settle, DefaultSettle}, {&o.Longest, DefaultLongest}, {&o.Poll, DefaultPoll}} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	mode := "watch"
	switch {
	case o.Manual:
		mode = "manual"
	case o.PollOnly:
		mode = "poll"
	}
	return &Reloader{options: o, watch: slices.Clone(o.Watch), status: Status{Mode: mode}}
}

// Load reads everything for the first time. What is wrong is for the caller to
// show: it is not logged.
func (r *Reloader) Load(ctx context.Context) Outcome {
	r.building.Lock()
	defer r.building.Unlock()
	candidate := r.build(ctx, take(r.watch))
	r.reported = text(candidate.Problems)
	return r.conclude(candidate, !candidate.Problems.HasErrors())
}

// Reload reads everything now and puts it in force if it can be, without
// waiting whether a rule that is gone comes back.
func (r *Reloader) Reload(ctx context.Context) Outcome {
	r.building.Lock()
	defer r.building.Unlock()
	candidate := r.build(ctx, take(r.watch))
	return r.conclude(candidate, !candidate.Problems.HasErrors())
}

// Status tells how reloading fares.
func (r *Reloader) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.status
	status.Problems = slices.Clone(status.Problems)
	return status
}

// build makes a candidate of the files as they are. The look was taken before:
// what changes while the files are read is seen as a change later.
func (r *Reloader) build(ctx context.Context, before fingerprint) (candidate Candidate) {
	defer func() {
		if fault := recover(); fault != nil {
			r.options.Log.Error("reload panicked", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			candidate = Candidate{}
			candidate.Problems.Errorf(diag.Position{}, "internal", "reading the configuration stopped on an internal error; the log has the details")
		}
		if len(candidate.Watch) > 0 && !slices.Equal(candidate.Watch, r.watch) {
			r.watch = slices.Clone(candidate.Watch)
			// Nobody looked at the new paths before they were read, so they
			// count as changed and are read once more.
			before = take(r.watch)
			before.sum = [len(before.sum)]byte{}
		}
		r.seen = before
	}()
	return r.options.Build(ctx)
}

// conclude commits a candidate, or not, and keeps what is to be known of it.
func (r *Reloader) conclude(candidate Candidate, commit bool) Outcome {
	outcome := Outcome{Loosens: candidate.Loosens, Problems: candidate.Problems}
	ok := !candidate.Problems.HasErrors()
	if commit {
		outcome.Generation, outcome.Published = candidate.Commit(), true
	}
	now := r.options.Now()
	r.mu.Lock()
	if outcome.Published {
		r.status.Generation, r.status.Published = outcome.Generation, now
	}
	outcome.Generation = r.status.Generation
	recovered := ok && !r.status.Valid && r.status.Attempts > 0
	r.status.Valid, r.status.Problems, r.status.Read = ok, candidate.Problems, now
	r.status.Attempts++
	r.mu.Unlock()
	if r.options.Observe != nil {
		r.options.Observe(outcome.Generation, ok)
	}
	r.report(outcome, ok, recovered)
	return outcome
}

// report logs an attempt; problems that stay the same are logged once.
func (r *Reloader) report(outcome Outcome, ok, recovered bool) {
	log := r.options.Log
	if now := text(outcome.Problems); now != r.reported {
		r.reported = now
		for _, problem := range outcome.Problems.Sorted() {
			log.Warn("configuration", "at", problem.At.String(), "severity", problem.Severity.String(),
				"code", problem.Code, "message", problem.Message, "hint", problem.Hint)
		}
		if !ok {
			log.Error("configuration is invalid, the last good generation stays in force",
				"errors", outcome.Problems.Errors(), "generation", outcome.Generation)
		}
	}
	if outcome.Published {
		for _, name := range outcome.Loosens {
			log.Warn("the new generation takes away what kept calls in check", "gone", name, "generation", outcome.Generation)
		}
		log.Info("generation is in force", "generation", outcome.Generation)
	}
	if recovered {
		log.Info("configuration is valid again", "generation", outcome.Generation)
	}
}

// text tells two lists of problems apart.
func text(problems diag.List) string {
	var b strings.Builder
	for _, problem := range problems.Sorted() {
		b.WriteString(problem.String() + "\n")
	}
	return b.String()
}
