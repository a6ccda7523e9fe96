package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/diag"
)

// jsonReader turns a JSON file into a tree: one document, no key twice.
type jsonReader struct {
	file     string
	text     []byte
	starts   []int // offsets at which lines begin
	decoder  *json.Decoder
	size     size
	last     mark // where the token before was found
	halved   bool // the last text was refused
	problems *diag.List
}

func readJSON(file string, text []byte, problems *diag.List) []tree {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !plainText(file, text, problems) {
		return nil
	}
	r := &jsonReader{file: file, text: text, problems: problems, starts: []int{0}}
	for i, b := range text {
		if b == '\n' {
			r.starts = append(r.starts, i+1)
		}
	}
	// One strict pass over the grammar of JSON; the second one takes places.
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		r.syntax(err)
		return nil
	}
	r.decoder = json.NewDecoder(bytes.NewReader(text))
	r.decoder.UseNumber()
	root := r.node(0)
	return []tree{{root: root, broken: len(*problems) > 0}}
}

func (r *jsonReader) syntax(err error) {
	var mistake *json.SyntaxError
	at := r.position(len(r.text))
	if errors.As(err, &mistake) && mistake.Offset > 0 {
		at = r.position(int(mistake.Offset) - 1)
	}
	message := strings.TrimPrefix(err.Error(), "json: ")
	if len(bytes.TrimSpace(r.text)) == 0 {
		message = "the file is empty"
	}
	r.problems.Errorf(at, "syntax", "not valid JSON: %s", message)
}

// mark is a place in the text, counted in bytes and in characters.
type mark struct{ offset, line, column int }

// position counts characters from the place that was asked for before, where
// it can: a file may be one long line.
func (r *jsonReader) position(offset int) diag.Position {
	offset = min(offset, len(r.text))
	line := sort.SearchInts(r.starts, offset+1)
	from := mark{r.starts[line-1], line, 1}
	if r.last.line == line && r.last.offset <= offset {
		from = r.last
	}
	r.last = mark{offset, line, from.column + utf8.RuneCount(r.text[from.offset:offset])}
	return diag.Position{File: r.file, Line: line, Column: r.last.column}
}

// token reads the next token, and where it begins.
func (r *jsonReader) token() (json.Token, diag.Position, error) {
	start := int(r.decoder.InputOffset())
	for start < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[start]) >= 0 {
		start++
	}
	token, err := r.decoder.Token()
	at := r.position(start)
	if text, ok := token.(string); ok && err == nil {
		raw := r.text[start:r.decoder.InputOffset()]
		if strings.ContainsRune(text, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
			r.problems.Errorf(at, "not-text", "half a character: a surrogate stands alone")
			r.halved = true
		}
	}
	return token, at, err
}

func (r *jsonReader) node(depth int) *node {
	token, at, err := r.token()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			r.syntax(err)
		}
		return &node{at: at, form: formBroken}
	}
	return r.value(token, at, depth)
}

func (r *jsonReader) value(token json.Token, at diag.Position, depth int) *node {
	out := &node{at: at}
	if !r.size.fits(depth) {
		if !r.size.told {
			tooLarge(at, r.problems)
		}
		r.size.told = true
	}
	switch token := token.(type) {
	case nil:
		out.form = formNull
	case bool:
		out.form, out.text = formBool, "false"
		if token {
			out.text = "true"
		}
	case json.Number:
		out.form, out.text = formNumber, token.String()
		if err := reasonable(out.text); err != nil {
			r.problems.Errorf(at, "number", "%s", err)
			out.form = formBroken
		}
	case string:
		out.form, out.text = formText, token
		if r.halved {
			out.form, r.halved = formBroken, false
		}
	case json.Delim:
		if token == '[' {
			r.list(out, depth)
		} else {
			r.object(out, depth)
		}
	}
	return out
}

func (r *jsonReader) list(out *node, depth int) {
	out.form = formList
	for r.decoder.More() {
		item := r.node(depth + 1)
		if depth < MaxDepth && r.size.values <= MaxValues {
			out.items = append(out.items, item)
		}
	}
	_, _ = r.decoder.Token()
}

func (r *jsonReader) object(out *node, depth int) {
	out.form = formObject
	seen := map[string]diag.Position{}
	for r.decoder.More() {
		token, at, err := r.token()
		name, ok := token.(string)
		if err != nil || !ok {
			return
		}
		item := r.node(depth + 1)
		if first, twice := seen[name]; twice {
			r.problems.Errorf(at, "duplicate-key", "key %q is written twice", name).Also(first, "the first one")
			continue
		}
		seen[name] = at
		if depth < MaxDepth && r.size.values <= MaxValues {
			out.keys = append(out.keys, key{name, at})
			out.items = append(out.items, item)
		}
	}
	_, _ = r.decoder.Token()
}
