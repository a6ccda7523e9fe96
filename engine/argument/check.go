package argument

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// checker makes one decoded value canonical under a node, and checks it, in
// one pass. Maps and lists are changed in place: they belong to this call.
type checker struct {
	trail    trail
	problems []Problem
	more     int
	// partial requires nothing; exact leaves values as they were sent: no
	// coercion, no defaults, no absent nulls.
	partial, exact bool
}

func (c *checker) problem(format string, args ...any) {
	if len(c.problems) == maxProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, Problem{Pointer: c.trail.pointer(), Message: fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &Error{Problems: c.problems, More: c.more}
}

// value returns the canonical form of v.
func (c *checker) value(n *node, v any) any {
	before := len(c.problems) + c.more
	if s, ok := v.(string); ok && !c.exact {
		v = spelt(n, s)
	}
	switch {
	case n.never:
		c.problem("is not allowed here")
		return v
	case n.types&typeOf(v) == 0:
		c.problem("must be %s, not %s", n.words, describe(v))
		return v
	case n.enum != nil && !slices.ContainsFunc(n.enum, func(allowed any) bool { return value.Equal(v, allowed) }):
		c.notListed(n, v)
		return v
	}
	switch v := v.(type) {
	case string:
		c.string(n, v)
	case int64, float64:
		c.number(n, v)
	case []any:
		c.list(n, v)
	case map[string]any:
		c.object(n, v)
	}
	if n.full != nil && len(c.problems)+c.more == before && !(c.partial && len(c.trail) == 0) {
		c.full(n, v)
	}
	return v
}

// spelt is the canonical value of a text.
func spelt(n *node, s string) any {
	switch {
	case n.coerce != 0:
		return coerced(s, n.coerce)
	case n.spell != nil && n.checkFormat(s) == nil:
		return n.spell(s)
	}
	return s
}

// coerced reads a number or boolean out of a string that is exactly JSON's
// grammar for one, and returns any other string as it is.
func coerced(s string, to typeSet) any {
	if to == isBoolean {
		switch s {
		case "true":
			return true
		case "false":
			return false
		}
		return s
	}
	text := []byte(s)
	if len(text) == 0 || numberLength(text) != len(text) {
		return s
	}
	v, err := parseNumber(text)
	if err != nil || typeOf(v)&to == 0 {
		return s
	}
	return v
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return show(v)
}

func (c *checker) notListed(n *node, v any) {
	if len(n.enum) == 0 {
		c.problem("takes no value at all")
		return
	}
	words := make([]string, len(n.enum))
	for i, allowed := range n.enum {
		words[i] = show(allowed)
	}
	c.problem("must be %s, not %s", diag.OneOf(words), describe(v))
}

func (c *checker) string(n *node, s string) {
	if n.minLength >= 0 || n.maxLength >= 0 {
		length := utf8.RuneCountInString(s)
		if length < n.minLength {
			c.problem("must have at least %d characters, not %d", n.minLength, length)
		}
		if n.maxLength >= 0 && length > n.maxLength {
			c.problem("must have at most %d characters, not %d", n.maxLength, length)
		}
	}
	if n.pattern != nil && !n.pattern.MatchString(s) {
		c.problem("%s does not match the pattern %s", show(s), n.pattern)
	}
	if n.checkFormat != nil {
		if err := n.checkFormat(s); err != nil {
			c.problem("%s %v", show(s), err)
		}
	}
}

func (c *checker) number(n *node, v any) {
	for _, bound := range [...]struct {
		limit any
		ok    func(int) bool
		text  string
	}{
		{n.minimum, func(order int) bool { return order >= 0 }, "at least"},
		{n.maximum, func(order int) bool { return order <= 0 }, "at most"},
		{n.above, func(order int) bool { return order > 0 }, "more than"},
		{n.below, func(order int) bool { return order < 0 }, "less than"},
	} {
		if bound.limit != nil && !bound.ok(compare(v, bound.limit)) {
			c.problem("must be %s %s, not %s", bound.text, value.JSON(bound.limit), value.JSON(v))
		}
	}
	if n.multipleOf != nil && !multiple(v, n.multipleOf) {
		c.problem("must be a multiple of %s, not %s", value.JSON(n.multipleOf), value.JSON(v))
	}
}

func (c *checker) list(n *node, list []any) {
	if len(list) < n.minItems {
		c.problem("must have at least %d items, not %d", n.minItems, len(list))
	}
	if n.maxItems >= 0 && len(list) > n.maxItems {
		c.problem("must have at most %d items, not %d", n.maxItems, len(list))
	}
	if n.items != nil {
		for i, item := range list {
			c.trail = append(c.trail, step{index: i})
			list[i] = c.value(n.items, item)
			c.trail = c.trail[:len(c.trail)-1]
		}
	}
	if n.unique && len(list) > 1 {
		seen := make(map[string]int, len(list))
		for i, item := range list {
			key := string(value.JSON(item))
			if first, twice := seen[key]; twice {
				c.problem("items %d and %d are equal, and each must be different", first, i)
				return
			}
			seen[key] = i
		}
	}
}

func (c *checker) object(n *node, m map[string]any) {
	others := len(m)
	for i := range n.properties {
		p := &n.properties[i]
		v, given := m[p.name]
		if given {
			others--
		}
		// Many clients send null for what they leave out.
		if given && v == nil && !p.required && p.node.types&isNull == 0 && !c.exact {
			delete(m, p.name)
			given = false
		}
		switch {
		case given:
			m[p.name] = c.under(p.name, p.node, v)
		case p.filled && !c.exact:
			m[p.name] = copied(p.fill)
		case p.required && !c.partial:
			c.missing(p.name)
		}
	}
	if others > 0 {
		c.others(n, m)
	}
	if !c.partial {
		for _, name := range n.required {
			if _, given := m[name]; !given {
				c.missing(name)
			}
		}
		if len(m) < n.minProperties {
			c.problem("must have at least %d fields, not %d", n.minProperties, len(m))
		}
	}
	if n.maxProperties >= 0 && len(m) > n.maxProperties {
		c.problem("must have at most %d fields, not %d", n.maxProperties, len(m))
	}
}

func (c *checker) under(name string, n *node, v any) any {
	c.trail = append(c.trail, step{key: name, index: -1})
	v = c.value(n, v)
	c.trail = c.trail[:len(c.trail)-1]
	return v
}

func (c *checker) missing(name string) {
	c.trail = append(c.trail, step{key: name, index: -1})
	c.problem("is missing")
	c.trail = c.trail[:len(c.trail)-1]
}

// others checks the fields that are no declared properties. One that differs
// from a property by case only is refused even where others are welcome.
func (c *checker) others(n *node, m map[string]any) {
	for _, name := range value.Keys(m) {
		if _, declared := n.index[name]; declared {
			continue
		}
		same := slices.IndexFunc(n.properties, func(p property) bool { return strings.EqualFold(p.name, name) })
		switch {
		case same >= 0 && !c.exact:
			c.problem("unknown field %s: write %s, case counts", show(name), n.properties[same].name)
		case n.closed && len(c.problems) == maxProblems:
			c.more++ // no time for hints that nobody will see
		case n.closed:
			names := make([]string, len(n.properties))
			for i, p := range n.properties {
				names[i] = p.name
			}
			hint := diag.DidYouMean(name, names)
			if hint != "" {
				hint = " (" + hint + ")"
			}
			c.problem("unknown field %s%s", show(name), hint)
		case n.additional != nil:
			m[name] = c.under(name, n.additional, m[name])
		}
	}
}

// copied copies a default, since a call may change its own values.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = copied(item)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = copied(item)
		}
		return m
	}
	return v
}
