package condition

import (
	"fmt"

	"github.com/writ-dev/writ/engine/value"
)

// Environment is what one call offers to expressions: the canonical value of
// each root, nil for a root that is not there. It also keeps the working
// memory of an evaluation, so that none has to be allocated: make one for each
// call, use it for any number of conditions, but in one goroutine at a time.
type Environment struct {
	Args, Scope, Principal, Entry, Tool, Facts any

	steps    int
	elements [MaxNesting]any
}

// rootNames are the names of the fields of Environment in expressions.
func rootNames() []string { return []string{"args", "scope", "principal", "entry", "tool", "facts"} }

type root int

func (e *Environment) root(r root) any {
	switch r {
	case 0:
		return e.Args
	case 1:
		return e.Scope
	case 2:
		return e.Principal
	case 3:
		return e.Entry
	case 4:
		return e.Tool
	}
	return e.Facts
}

// spend counts work, so that no list can hold an evaluation up.
func (e *Environment) spend(steps int) error {
	if e.steps += steps; e.steps > MaxSteps {
		return errSteps
	}
	return nil
}

// Failure is why an expression has no value. Part is the part of the source
// that has none.
type Failure struct {
	Part   string
	Reason string
}

func (f *Failure) Error() string { return f.Part + ": " + f.Reason }

type constantError string

func (e constantError) Error() string { return string(e) }

// errSteps is one error for all expressions: which part spent the last step is chance.
const errSteps = constantError("the evaluation takes too many steps: bound the lists in the schema of the arguments")

// Evaluate says whether the condition holds. An error, a *Failure or one about
// the bound on steps, means that this cannot be said.
func (c *Condition) Evaluate(env *Environment) (bool, error) {
	env.steps = 0
	return c.holds(env)
}

// Explanation is how a condition came to its result. Part is what settled it,
// as written: the first false part of a and b and c, the first true part of
// a or b or c, the part that failed, and otherwise the whole.
type Explanation struct {
	Holds bool
	Err   error
	Part  string
	Saw   []Seen
}

// Seen is one field that a condition reads, with its value in this call.
type Seen struct {
	Field   string
	Value   any
	Present bool
}

// Explain evaluates the condition and says why. It is for people: slower than
// Evaluate, with the same result.
func (c *Condition) Explain(env *Environment) Explanation {
	out := Explanation{Saw: c.saw(env)}
	out.Holds, out.Err = c.Evaluate(env)
	out.Part = c.expression.text(c.expression.root)
	for _, part := range c.parts {
		holds, err := part.holds(env)
		if (err != nil) == (out.Err != nil) && holds == out.Holds && (err != nil || holds == c.settles) {
			out.Part = c.expression.text(part.node)
			break
		}
		if err != nil {
			break
		}
	}
	return out
}

func (c *Condition) saw(env *Environment) []Seen {
	var out []Seen
	for _, r := range c.expression.Reads() {
		field := r.Path[0]
		v := env.root(c.roots[r.Path[0]])
		for _, name := range r.Path[1:] {
			m, _ := v.(map[string]any)
			v = m[name]
			field += "." + name
		}
		out = append(out, Seen{Field: field, Value: v, Present: v != nil})
	}
	return out
}

// kindOf names what a value is, for messages.
func kindOf(v any) value.Kind {
	switch v.(type) {
	case bool:
		return value.Boolean
	case int64:
		return value.Integer
	case string:
		return value.String
	case []any:
		return value.List
	case map[string]any:
		return value.Object
	case nil:
		return value.Any
	}
	return value.Number
}

func article(k value.Kind) string {
	switch k {
	case value.Any:
		return "null"
	case value.Integer, value.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

func mismatch(part string, v any, want value.Kind) error {
	return &Failure{Part: part, Reason: fmt.Sprintf("is %s, not %s", article(kindOf(v)), article(want))}
}
