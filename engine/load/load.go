// Package load answers one question: what documents do the files hold?
//
// It finds YAML, JSON and CUE files, reads each into a tree whose every value
// knows its line and column, checks the tree against the grammar of its kind
// and hands out typed documents. It reports every mistake of every file at
// once and stops at none. What a name refers to, whether an expression makes
// sense and what a tool does with its arguments is the business of higher
// rooms. It is the only room that imports CUE; YAML and JSON never touch it,
// because they are checked against the JSON Schema that was derived from the
// grammar when Writ was built.
package load

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// Bounds of one load.
const (
	MaxFile      = 4 << 20  // bytes of one file
	MaxTotal     = 64 << 20 // bytes of all files
	MaxFiles     = 20_000
	MaxDepth     = 64       // of values in values
	MaxValues    = 200_000  // in one file, or made by one CUE file
	MaxMade      = 16 << 20 // bytes of the texts that one CUE file makes
	DefaultLimit = 5 * time.Second
	// DefaultMemory is for CUE files in an evaluator.
	DefaultMemory = 512 << 20
	// settles is how many times files that change while they are read are read
	// again.
	settles = 5
)

// Options say what to read.
type Options struct {
	// Paths are folders, read with all that is below them, and single files.
	// Positions name files as they are named here.
	Paths []string
	// Previous is what an earlier load left: files that have not changed are
	// not parsed again and give the same documents.
	Previous *Cache
	// Trusted accepts configuration that other users can write.
	Trusted bool
	// Limit bounds the evaluation of one CUE file; 0 means DefaultLimit.
	Limit time.Duration
	// Evaluator is a program with its first arguments that calls
	// ServeEvaluation. CUE files are evaluated in it, so that one that takes too
	// much time or memory ends with its process. Without it they are evaluated
	// in this process, where only the waiting is bounded.
	Evaluator []string
	// Memory bounds what the evaluation of one CUE file takes in the evaluator,
	// in bytes; 0 means DefaultMemory.
	Memory int64
	// Now, when not nil, lets a file count as unchanged by its size, dates and
	// identity when these are old enough to tell; otherwise every file is read
	// and summed.
	Now func() time.Time
}

// Result is what was found. Documents without a mistake are in Set even when
// others have some; whoever publishes looks at Problems first.
type Result struct {
	Set      *document.Set
	Problems diag.List
	// Cache is for the next load.
	Cache *Cache
	// Unchanged says that Set is the one of Options.Previous.
	Unchanged bool
	// Documents counts the documents of Set.
	Documents int
}

// Loader holds the compiled grammar. It is safe for concurrent use.
type Loader struct{ grammar *grammar }

// New compiles the grammar. An error means that Writ was built wrongly.
func New() (*Loader, error) {
	g, err := newGrammar()
	if err != nil {
		return nil, err
	}
	return &Loader{g}, nil
}

// Load reads everything. It never fails as a whole: what cannot be read is a
// problem with a position. When files change while they are read it starts
// over, so that a Set never holds half of an edit that it could see.
func (l *Loader) Load(ctx context.Context, o Options) Result {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	var r *reading
	for range settles {
		r = l.read(ctx, o)
		if r.stopped || r.settled(ctx, o) {
			return r.finish(o)
		}
	}
	r.problems.Errorf(diag.Position{File: strings.Join(o.Paths, ", ")}, "unsettled", "the files change while they are read").
		Hinted("load again when they are complete")
	return r.finish(o)
}

// reading is one pass over the files.
type reading struct {
	files    []*entry // by path
	found    *search
	problems diag.List // of no file, or of all together
	stopped  bool      // by the context
}

func (l *Loader) read(ctx context.Context, o Options) *reading {
	r := &reading{found: find(o.Paths)}
	r.problems = slices.Clone(r.found.problems)
	entries, err := l.entries(ctx, o, r.found.files)
	if err != nil {
		r.stopped = true
		r.problems.Errorf(diag.Position{File: strings.Join(o.Paths, ", ")}, "stopped", "loading stopped: %v", err)
	}
	r.files = entries
	return r
}

// settled reports whether the files are still what was read.
func (r *reading) settled(ctx context.Context, o Options) bool {
	again := find(o.Paths)
	if ctx.Err() != nil || len(again.files) != len(r.found.files) {
		return false
	}
	for i, f := range again.files {
		if f.path != r.found.files[i].path || statOf(f.info) != r.files[i].stat {
			return false
		}
	}
	return true
}

// finish joins the documents of all files and checks what takes more than one.
func (r *reading) finish(o Options) Result {
	if !o.Trusted {
		r.problems = append(r.problems, r.found.exposed()...)
	}
	cache := newCache(r.files)
	if o.Previous != nil && len(r.problems) == 0 && cache.same(o.Previous) {
		cache.set, cache.problems = o.Previous.set, o.Previous.problems
		return Result{Set: cache.set, Problems: slices.Clone(cache.problems), Cache: cache, Unchanged: true, Documents: count(cache.set)}
	}
	problems := r.problems
	r.found.empty(r.files, &problems)
	joined := joining{set: &document.Set{}, problems: &problems}
	for _, e := range r.files {
		problems = append(problems, e.problems...)
		for _, doc := range e.documents {
			joined.add(doc)
		}
	}
	joined.finish()
	problems = problems.Sorted()
	if len(r.problems) == 0 {
		cache.set, cache.problems = joined.set, problems
	}
	return Result{Set: joined.set, Problems: slices.Clone(problems), Cache: cache, Documents: count(joined.set)}
}

func count(s *document.Set) int {
	if s == nil {
		return 0
	}
	return len(s.Tools) + len(s.RiskRules) + len(s.Policies) + len(s.Grants) + len(s.Connections) + len(s.Secrets) + len(s.Tests)
}
