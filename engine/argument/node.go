package argument

import (
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/writ-dev/writ/engine/value"
)

// typeSet is a set of JSON types.
type typeSet uint8

const (
	isNull typeSet = 1 << iota
	isBoolean
	isInteger
	isFraction
	isString
	isList
	isObject
	anyType typeSet = 1<<iota - 1
)

func typeSetOf(words []string) typeSet {
	var set typeSet
	for _, word := range words {
		switch word {
		case "null":
			set |= isNull
		case "boolean":
			set |= isBoolean
		case "integer":
			set |= isInteger
		case "number":
			set |= isInteger | isFraction
		case "string":
			set |= isString
		case "array":
			set |= isList
		case "object":
			set |= isObject
		}
	}
	return set
}

// typeOf returns the type of a canonical value.
func typeOf(v any) typeSet {
	switch v.(type) {
	case nil:
		return isNull
	case bool:
		return isBoolean
	case int64:
		return isInteger
	case float64:
		return isFraction
	case string:
		return isString
	case []any:
		return isList
	}
	return isObject
}

// node is one schema, compiled. Only what is given is checked; -1 is a count
// that is not given and nil a bound that is not.
type node struct {
	types  typeSet
	words  string // the type as it was written, for messages
	never  bool   // the schema false
	coerce typeSet

	enum []any

	minimum, maximum, above, below, multipleOf any

	minLength, maxLength int
	pattern              *regexp.Regexp
	format               string
	checkFormat          func(string) error
	spell                func(string) string

	items              *node
	minItems, maxItems int
	unique             bool

	properties                   []property
	index                        map[string]int
	required                     []string // beyond the properties
	closed                       bool     // no other fields
	additional                   *node    // of other fields; nil allows any
	minProperties, maxProperties int

	// full, when not nil, checks the words that this compiler leaves out.
	full *jsonschema.Schema
	slow bool // full is needed, before it is there
}

type property struct {
	name     string
	node     *node
	required bool
	filled   bool
	fill     any // canonical; copied before use
}

func open() *node {
	return &node{types: anyType, minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minProperties: -1, maxProperties: -1}
}

// build compiles a plain schema without references. It never fails: what
// could fail has been refused by the linter.
func build(v any, words map[string]keyword) *node {
	n := open()
	w, ok := v.(*written)
	if !ok {
		n.never = v == false
		return n
	}
	if types := w.types(); len(types) > 0 {
		n.types, n.words = typeSetOf(types), strings.Join(types, " or ")
	}
	n.coerce = coercion(n.types)
	if w.has("enum") {
		n.enum = plain(w.list("enum")).([]any)
	}
	if w.has("const") {
		n.enum = constant(n.enum, plain(w.values["const"]), w.has("enum"))
	}
	n.minimum, n.maximum, n.multipleOf = w.values["minimum"], w.values["maximum"], w.values["multipleOf"]
	n.above, n.below = w.values["exclusiveMinimum"], w.values["exclusiveMaximum"]
	for key, count := range map[string]*int{
		"minLength": &n.minLength, "maxLength": &n.maxLength, "minItems": &n.minItems, "maxItems": &n.maxItems,
		"minProperties": &n.minProperties, "maxProperties": &n.maxProperties,
	} {
		if given, ok := w.values[key].(int64); ok {
			*count = int(min(given, 1<<31-1))
		}
	}
	if pattern := w.text("pattern"); pattern != "" {
		var err error
		n.pattern, err = regexp.Compile(pattern)
		n.never = err != nil
	}
	n.format = w.text("format")
	n.checkFormat, n.spell = formatCheck(n.format), spelling(n.format)
	if items, ok := w.values["items"]; ok && !w.has("prefixItems") {
		n.items = build(items, words)
	}
	n.unique = w.values["uniqueItems"] == true
	n.fields(w, words)
	n.slow = slices.ContainsFunc(w.keys, func(key string) bool { return words[key].slow })
	return n
}

// constant joins const to enum: both must hold.
func constant(enum []any, only any, both bool) []any {
	if both && !slices.ContainsFunc(enum, func(v any) bool { return value.Equal(v, only) }) {
		return []any{}
	}
	return []any{only}
}

// coercion says which types a string may stand for: integer, number or
// boolean, when the schema asks for nothing else.
func coercion(types typeSet) typeSet {
	switch rest := types &^ isNull; rest {
	case isInteger, isInteger | isFraction, isBoolean:
		return rest
	}
	return 0
}

func (n *node) fields(w *written, words map[string]keyword) {
	required := w.names("required")
	n.index = map[string]int{}
	if properties := w.object("properties"); properties != nil {
		for _, name := range properties.keys {
			p := property{name: name, node: build(properties.values[name], words), required: slices.Contains(required, name)}
			n.index[name] = len(n.properties)
			n.properties = append(n.properties, p)
		}
	}
	for _, name := range required {
		if _, ok := n.index[name]; !ok {
			n.required = append(n.required, name)
		}
	}
	additional, given := w.values["additionalProperties"]
	switch {
	case !given || w.has("patternProperties"):
	case additional == false:
		n.closed = true
	default:
		n.additional = build(additional, words)
	}
}

// attach gives every node that needs it its part of the full validator.
func (n *node) attach(full *jsonschema.Schema) {
	if full == nil {
		return
	}
	if n.slow {
		n.full = full
	}
	if n.items != nil {
		n.items.attach(full.Items2020)
	}
	for _, p := range n.properties {
		p.node.attach(full.Properties[p.name])
	}
	if additional, ok := full.AdditionalProperties.(*jsonschema.Schema); ok && n.additional != nil {
		n.additional.attach(additional)
	}
}

// needsFull reports whether any part of the schema needs the full validator.
func (n *node) needsFull() bool {
	if n == nil {
		return false
	}
	if n.slow || n.items.needsFull() || n.additional.needsFull() {
		return true
	}
	return slices.ContainsFunc(n.properties, func(p property) bool { return p.node.needsFull() })
}
