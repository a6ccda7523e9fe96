package load

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// form is what a value of a file is.
type form int

const (
	formNull form = iota
	formBool
	formNumber
	formText
	formList
	formObject
	formBroken // refused, and reported already
)

// String names a form for a message.
func (f form) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "an object", "broken"}[f]
}

// tree is one document as it was read. A broken one has mistakes that were
// reported, and is checked but not used.
type tree struct {
	root   *node
	broken bool
	maker  string // the place in a CUE file that made it, or ""
}

// node is one value of a file with its place.
type node struct {
	form  form
	text  string // of a scalar; a number keeps its decimal text
	at    diag.Position
	keys  []key   // of an object, in the order written
	items []*node // of a list, or the values of keys
}

type key struct {
	name string
	at   diag.Position
}

// get returns the value of a key, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.form != formObject {
		return nil
	}
	for i, k := range n.keys {
		if k.name == name {
			return n.items[i]
		}
	}
	return nil
}

// step returns the value at one step of a JSON pointer, and the place of its
// key.
func (n *node) step(name string) (*node, diag.Position) {
	switch n.form {
	case formObject:
		for i, k := range n.keys {
			if k.name == name {
				return n.items[i], k.at
			}
		}
	case formList:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i], n.items[i].at
		}
	}
	return nil, n.at
}

// value is the tree as the validator reads it.
func (n *node) value() any {
	switch n.form {
	case formBool:
		return n.text == "true"
	case formNumber:
		return json.Number(n.text)
	case formText:
		return n.text
	case formList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.value()
		}
		return list
	case formObject:
		object := make(map[string]any, len(n.items))
		for i, item := range n.items {
			object[n.keys[i].name] = item.value()
		}
		return object
	}
	return nil
}

// appendJSON writes the tree as JSON in the order of the file.
func (n *node) appendJSON(out []byte) []byte {
	switch n.form {
	case formNull:
		return append(out, "null"...)
	case formBool, formNumber:
		return append(out, n.text...)
	case formText:
		return value.AppendJSON(out, n.text)
	}
	open, end := byte('['), byte(']')
	if n.form == formObject {
		open, end = '{', '}'
	}
	out = append(out, open)
	for i, item := range n.items {
		if i > 0 {
			out = append(out, ',')
		}
		if n.form == formObject {
			out = append(value.AppendJSON(out, n.keys[i].name), ':')
		}
		out = item.appendJSON(out)
	}
	return append(out, end)
}

// source notes the place of every value for later rooms.
func (n *node) source(maker string) *document.Source {
	spans := map[string]document.Span{}
	n.spans("", spans)
	return document.NewSource(n.at, maker, spans)
}

func (n *node) spans(pointer string, spans map[string]document.Span) {
	for i, item := range n.items {
		step, at := strconv.Itoa(i), item.at
		if n.form == formObject {
			step, at = n.keys[i].name, n.keys[i].at
			if strings.ContainsAny(step, "~/") {
				step = strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
			}
		}
		below := pointer + "/" + step
		spans[below] = document.Span{Key: at, Value: item.at}
		item.spans(below, spans)
	}
}

// size bounds a tree while it is built.
type size struct {
	values int
	bytes  int // of the texts that CUE made
	told   bool
}

func (s *size) fits(depth int) bool {
	s.values++
	return s.values <= MaxValues && depth <= MaxDepth
}

func tooLarge(at diag.Position, problems *diag.List) {
	problems.Errorf(at, "too-large", "a file holds at most %d values, at most %d deep", MaxValues, MaxDepth)
}
