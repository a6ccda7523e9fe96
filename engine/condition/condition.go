// Package condition answers one question: does it hold?
//
// An expression is parsed once, where it stands in a document, and bound once
// for each environment that it is used in: the types of the arguments, scope,
// principal, entry, tool and facts. Binding checks every kind and every field
// and gives a Condition, closures over canonical values that allocate nothing
// for ordinary rules. The package is the only importer of expr, and takes only
// its parser: integers are checked, nothing is compared across kinds, an
// absent value is an error and never false, and every evaluation is bounded.
// What to do about an error (a risk rule fires, a deny rule denies) is for the
// caller to decide. It reads no clock, holds no state and does not log.
package condition

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser/lexer"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// Bounds of one expression.
const (
	MaxSource  = 4 << 10  // bytes of source
	MaxNodes   = 200      // nodes of the syntax tree
	MaxNesting = 3        // predicates inside predicates, as in all(…, any(…))
	MaxSteps   = 100_000  // work of one evaluation: nodes times list elements
	MaxText    = 64 << 10 // bytes of a text made with +
)

// Expression is a parsed expression that is not yet bound to any types. It is
// immutable and may be bound any number of times.
type Expression struct {
	source   string
	at       diag.Position
	root     ast.Node
	tokens   []lexer.Token
	paths    map[ast.Node]*path
	order    []*path
	patterns map[ast.Node]*regexp.Regexp
	firm     bool
}

// Read is one field that an expression reads. Path begins with a root, such as
// args, and ends before the first index into a list. Guarded says that every
// read of it stands inside the protection of has() or ??.
type Read struct {
	Path    []string
	Guarded bool
	At      diag.Position
}

// Firm returns the expression for a place that loosens: it cannot be bound
// where all() or none() may hold only because a list is empty.
func (e *Expression) Firm() *Expression {
	firm := *e
	firm.firm = true
	return &firm
}

// Source returns the expression as it was written.
func (e *Expression) Source() string { return e.source }

// Reads lists the fields that the expression reads, each once, in the order
// of their first appearance.
func (e *Expression) Reads() []Read {
	var reads []Read
	for _, p := range e.order {
		if p.root == "" {
			continue
		}
		names := p.names()
		guarded := p.soft || p.guarded >= len(names)-1
		i := slices.IndexFunc(reads, func(r Read) bool { return slices.Equal(r.Path, names) })
		if i >= 0 {
			reads[i].Guarded = reads[i].Guarded && guarded
			continue
		}
		reads = append(reads, Read{Path: names, Guarded: guarded, At: e.position(p.node)})
	}
	return reads
}

// Missing lists the reads that an environment has no field for. A rule applies
// to a tool when every one of them is Guarded; such a field then counts as
// absent, see BindLenient.
func (e *Expression) Missing(env value.Type) []Read {
	var missing []Read
	for _, p := range e.order {
		if p.root == "" {
			continue
		}
		names := p.names()
		for n := 1; n <= len(names); n++ {
			if _, _, ok := env.Lookup(names[:n]); ok {
				continue
			}
			if parent, _, _ := env.Lookup(names[:n-1]); parent.Kind == value.Object {
				missing = append(missing, Read{Path: names[:n], Guarded: n > 1 && p.tolerates(n-1), At: e.position(p.node)})
			}
			break
		}
	}
	return missing
}

// path is a chain of fields and indexes from a root or from an element of a
// list (root is ""; depth then says of which predicate). The first guarded
// steps are known to be present where the path stands; a soft path is one
// whose absence is handled on the spot.
type path struct {
	node    ast.Node
	root    string
	depth   int
	steps   []step
	guarded int
	soft    bool
}

// step is a field by name, or an index when name is empty and index is set.
type step struct {
	name  string
	index ast.Node
	node  ast.Node
}

// names is the root and the leading steps that are names.
func (p *path) names() []string {
	names := []string{p.root}
	for _, s := range p.steps {
		if s.index != nil {
			break
		}
		names = append(names, s.name)
	}
	return names
}

// tolerates reports whether the step of this number, counted from 1, may be absent.
func (p *path) tolerates(step int) bool { return p.soft || step <= p.guarded }

// position is where a node stands in the file. Only a text on one line can be
// counted from its start; in any other the start has to do.
func (e *Expression) position(n ast.Node) diag.Position {
	from, _ := e.span(n)
	return offset(e.at, e.source, from)
}

func offset(at diag.Position, source string, runes int) diag.Position {
	if at.Column > 0 && !strings.ContainsRune(source, '\n') {
		at.Column += runes
	}
	return at
}

// text is the part of the source that a node was written as.
func (e *Expression) text(n ast.Node) string {
	from, to := e.span(n)
	return cut(e.source, from, to)
}

// cut takes runes, because that is what the lexer counts.
func cut(source string, from, to int) string {
	start, end, i := len(source), len(source), 0
	for offset := range source {
		if i == from {
			start = offset
		}
		if i == to {
			end = offset
			break
		}
		i++
	}
	return source[min(start, end):end]
}

// span finds the characters of a node: those of its own token and of all its
// descendants, and then as much more as balances the brackets.
func (e *Expression) span(n ast.Node) (from, to int) {
	from, to = utf8.RuneCountInString(e.source), 0
	for d := range descendants(n) {
		if _, ok := d.(*ast.ConditionalNode); ok {
			continue // its location is that of the token after it
		}
		from, to = min(from, d.Location().From), max(to, d.Location().To)
	}
	return e.balance(from, to)
}

func (e *Expression) balance(from, to int) (int, int) {
	open, missing := 0, 0
	for _, t := range e.tokens {
		if t.Kind != lexer.Bracket || t.From < from {
			continue
		}
		if t.From >= to && open == 0 {
			break
		}
		switch {
		case strings.Contains("([{", t.Value):
			open++
		case open > 0:
			open--
			to = max(to, t.To)
		default:
			missing++
		}
	}
	for _, t := range slices.Backward(e.tokens) {
		if t.Kind != lexer.Bracket || t.From >= from || missing == 0 {
			continue
		}
		if strings.Contains("([{", t.Value) {
			from, missing = t.From, missing-1
		} else {
			missing++
		}
	}
	return from, to
}
