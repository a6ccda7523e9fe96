package value

import (
	"strconv"
	"strings"
)

// Kind is the broad shape of a value, known when a document is loaded.
type Kind int

// The kinds. Any is the zero value: nothing is known, so an expression must
// test the value before it relies on it. Number covers int64 and float64.
const (
	Any Kind = iota
	Boolean
	Integer
	Number
	String
	List
	Object
)

var kindNames = [...]string{"any value", "boolean", "integer", "number", "string", "list", "object"}

func (k Kind) String() string { return kindNames[k] }

// Type is what is known of a value before a call arrives.
//
// For a List, Item is the type of each element (nil means Any). For an Object
// with Fields, exactly these fields exist; without Fields it is an open map
// whose values have the type Item (nil means Any). Format is the asserted
// JSON Schema format of a string, such as "path" or "decimal". Enum, when not
// empty, lists every value that is possible.
type Type struct {
	Kind   Kind
	Item   *Type
	Fields map[string]Field
	Format string
	Enum   []any
	// NonEmpty says that a List has at least one element.
	NonEmpty bool
}

// Field is one field of an Object. An Optional field may be absent, and may
// then only be read where its absence is handled.
type Field struct {
	Type     Type
	Optional bool
}

// Struct makes an Object type of exactly these fields.
func Struct(fields map[string]Field) Type {
	if fields == nil {
		fields = map[string]Field{}
	}
	return Type{Kind: Object, Fields: fields}
}

// Of makes a required field of a kind without further detail.
func Of(kind Kind) Field { return Field{Type: Type{Kind: kind}} }

// ListOf makes a required list field.
func ListOf(item Kind) Field { return Field{Type: Type{Kind: List, Item: &Type{Kind: item}}} }

// Lookup follows a path of field names. It reports whether the path exists and
// whether any step of it may be absent. A step through an open map or Any
// exists and may be absent.
func (t Type) Lookup(path []string) (found Type, optional, ok bool) {
	for _, name := range path {
		switch {
		case t.Kind == Object && t.Fields != nil:
			field, exists := t.Fields[name]
			if !exists {
				return Type{}, false, false
			}
			t, optional = field.Type, optional || field.Optional
		case t.Kind == Object && t.Item != nil:
			t, optional = *t.Item, true
		case t.Kind == Object, t.Kind == Any:
			t, optional = Type{}, true
		default:
			return Type{}, false, false
		}
	}
	return t, optional, true
}

// Signature is a text that is equal for types which any expression would
// treat alike. It serves as a cache key.
func (t Type) Signature() string {
	var b strings.Builder
	t.sign(&b)
	return b.String()
}

func (t Type) sign(b *strings.Builder) {
	b.WriteByte("abinslo"[t.Kind])
	if t.NonEmpty {
		b.WriteByte('+')
	}
	if t.Format != "" {
		b.WriteString("~" + strconv.Quote(t.Format))
	}
	for _, v := range t.Enum {
		b.WriteByte('|')
		b.Write(AppendJSON(nil, v))
	}
	if t.Item != nil {
		b.WriteByte('[')
		t.Item.sign(b)
		b.WriteByte(']')
	}
	if t.Fields != nil {
		b.WriteByte('{')
		for _, name := range Keys(t.Fields) {
			field := t.Fields[name]
			b.WriteString(strconv.Quote(name)) // or one name could read like two fields
			if field.Optional {
				b.WriteByte('?')
			}
			b.WriteByte(':')
			field.Type.sign(b)
			b.WriteByte(';')
		}
		b.WriteByte('}')
	}
}
