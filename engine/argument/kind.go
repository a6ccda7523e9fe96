package argument

import "github.com/writ-dev/writ/engine/value"

// typeOfValue says what is known of a value that passed the node.
func (n *node) typeOfValue() value.Type {
	t := value.Type{Format: n.format, Enum: n.enum}
	types := n.types
	if types == anyType && n.enum != nil {
		types = 0
		for _, v := range n.enum {
			types |= typeOf(v)
		}
	}
	switch types {
	case isBoolean:
		t.Kind = value.Boolean
	case isInteger:
		t.Kind = value.Integer
	case isInteger | isFraction, isFraction:
		t.Kind = value.Number
	case isString:
		t.Kind = value.String
	case isList:
		t.Kind = value.List
		t.NonEmpty = n.minItems >= 1
		if n.items != nil {
			item := n.items.typeOfValue()
			t.Item = &item
		}
	case isObject:
		t.Kind = value.Object
		n.typeOfObject(&t)
	default:
		t.Format = ""
	}
	return t
}

// typeOfObject fills in fields when exactly these can be there, and otherwise
// the type of the values of a map. An object that has both declared and free
// fields is known as a map of any values.
func (n *node) typeOfObject(t *value.Type) {
	switch {
	case n.closed:
		*t = value.Struct(nil)
		for _, p := range n.properties {
			t.Fields[p.name] = value.Field{Type: p.node.typeOfValue(), Optional: !p.required && !p.filled}
		}
	case len(n.properties) == 0 && n.additional != nil:
		item := n.additional.typeOfValue()
		t.Item = &item
	}
}
