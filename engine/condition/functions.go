package condition

import (
	"slices"

	"github.com/writ-dev/writ/engine/diag"
)

// Function is one function of expressions, for reference pages and completion.
type Function struct {
	Name      string
	Example   string
	Meaning   string
	arguments int
}

// Functions lists every function, in the order of their names.
func Functions() []Function {
	return []Function{
		function("abs", 1, "abs(args.n)", "the number without its sign"),
		function("all", 2, "all(args.paths, # startsWith '/srv/')", "every element passes; true of an empty list"),
		function("any", 2, "any(args.paths, # contains '..')", "at least one element passes"),
		function("count", 2, "count(args.items, .amount > 100)", "how many elements pass"),
		function("decimal", 1, "decimal(args.amount) > decimal('1000.50')", "the exact number that a text of decimal digits stands for"),
		function("duration", 1, "duration(args.timeout) > duration('5m')", "the length of time of a text such as 90s, 1h30m, PT5M or P1D"),
		function("filter", 2, "len(filter(args.items, .open))", "the elements that pass"),
		function("has", 1, "has(args.x)", "the field was given and is not null"),
		function("hasPrefix", 2, "hasPrefix(args.s, 'a')", "the text starts so; the same as startsWith"),
		function("hasSuffix", 2, "hasSuffix(args.s, 'z')", "the text ends so; the same as endsWith"),
		function("len", 1, "len(args.items)", "characters of a text, elements of a list, keys of an object"),
		function("lower", 1, "lower(args.s)", "the text in lower case"),
		function("none", 2, "none(args.paths, # contains '..')", "no element passes; true of an empty list"),
		function("one", 2, "one(args.items, .main)", "exactly one element passes"),
		function("split", 2, "'internal' in split(args.host, '.')", "the parts of a text between separators"),
		function("trim", 1, "trim(args.s)", "the text without white space around it"),
		function("upper", 1, "upper(args.s)", "the text in upper case"),
	}
}

func function(name string, arguments int, example, meaning string) Function {
	return Function{Name: name, Example: example, Meaning: meaning, arguments: arguments}
}

func functionOf(name string) (Function, bool) {
	all := Functions()
	i := slices.IndexFunc(all, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return all[i], true
}

// functionHint says what to write instead of a function that does not exist.
func functionHint(name string) string {
	switch name {
	case "now", "date", "timezone":
		return "an expression reads no clock"
	case "toJSON", "fromJSON", "toBase64", "fromBase64", "string", "int", "float", "type":
		return "values are not converted: compare a field with a value of its own kind, or use decimal()"
	case "get":
		return "write args.x, or args.map['key']"
	case "find", "findIndex", "findLast", "findLastIndex", "first", "last", "map", "sum", "reduce", "sortBy", "groupBy", "sort":
		return "use any, all, none, one or count"
	case "max", "min":
		return "compare each value: args.a > 5 or args.b > 5"
	case "exists", "defined", "isset", "isDefined", "present":
		return "write has(args.x)"
	case "size", "length":
		return "write len(args.x)"
	case "contains", "startsWith", "endsWith", "matches", "in", "not":
		return "write args.x " + name + " 'text'"
	case "env", "getenv":
		return "an expression reads no environment"
	}
	var names []string
	for _, f := range Functions() {
		names = append(names, f.Name)
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "there are abs, all, any, count, decimal, duration, filter, has, hasPrefix, hasSuffix, len, lower, none, one, split, trim, upper"
}

// methodHint says how to write what other languages write as a method.
func methodHint(name string) string {
	switch name {
	case "startsWith", "endsWith", "contains", "matches":
		return "write args.x " + name + " 'text'"
	case "includes", "has":
		return "write 'text' in args.x, or args.x contains 'text'"
	case "size", "length", "len":
		return "write len(args.x)"
	case "exists", "some", "every":
		return "write any(args.x, # == 'text')"
	}
	return "functions stand before their values: len(args.x)"
}
