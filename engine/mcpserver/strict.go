package mcpserver

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// fault is a message that is refused before the SDK sees it.
type fault struct {
	id   []byte // as it was sent, or nil
	code int64
	text string
}

// response is the JSON-RPC answer to a refused message.
func (f *fault) response() []byte {
	id := f.id
	if id == nil {
		id = []byte("null")
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	out = append(out, `,"error":{"code":`...)
	out = strconv.AppendInt(out, f.code, 10)
	out = append(out, `,"message":`...)
	text, _ := json.Marshal(f.text) // a string always marshals
	return append(append(out, text...), "}}"...)
}

// maxNesting is far above what arguments may have, which is refused as a result
// of the call, and below the 1,000 levels at which the SDK stops with a text of
// its own instead of an answer.
const maxNesting = 256

// checkMessage refuses what two readers of JSON could understand differently:
// invalid UTF-8, trailing data, and keys that are given twice, or that differ
// only by case, where the protocol reads them. What is inside a call's
// arguments is not its business: that is checked with the call and becomes a
// result. It also checks the types of a call's parameters, because the SDK
// answers those mistakes with the names of its own Go types. The envelope of a
// batch has no method.
func checkMessage(data []byte) (envelope, *fault) {
	switch {
	case !utf8.Valid(data):
		return envelope{}, &fault{code: jsonrpc.CodeParseError, text: "the message is not valid UTF-8"}
	case !json.Valid(data):
		return envelope{}, &fault{code: jsonrpc.CodeParseError, text: "the message is not one JSON value"}
	case deeper(data, maxNesting):
		return envelope{}, &fault{code: jsonrpc.CodeInvalidRequest, text: "lists and objects are nested more than " + strconv.Itoa(maxNesting) + " deep"}
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	if data[0] != '[' {
		return checkOne(data)
	}
	for item := range elements(data) {
		if _, f := checkOne(item); f != nil {
			return envelope{}, f
		}
	}
	return envelope{}, nil
}

// envelope is what is known of a message before the SDK reads it.
type envelope struct {
	id     []byte // as it was sent, or nil
	method string
	params []byte
}

func checkOne(data []byte) (envelope, *fault) {
	if data[0] != '{' {
		return envelope{}, &fault{code: jsonrpc.CodeInvalidRequest, text: "a message must be an object"}
	}
	if key, twice := repeated(data); twice {
		return envelope{}, &fault{code: jsonrpc.CodeInvalidRequest, text: "key " + strconv.Quote(key) + " is given twice"}
	}
	var e envelope
	for key, raw := range members(data) {
		if known := respelled(key); known != "" {
			return envelope{}, &fault{code: jsonrpc.CodeInvalidRequest, text: "key " + strconv.Quote(string(key)) + " must be " + known}
		}
		switch string(key) {
		case "id":
			switch {
			case raw[0] == '"' || integer(raw):
				e.id = raw
			case raw[0] != 'n': // the SDK would round, and answer another id than was sent
				return envelope{}, &fault{code: jsonrpc.CodeInvalidRequest, text: "id must be a string or a whole number"}
			}
		case "method":
			if raw[0] == '"' { // another type is for the SDK to refuse
				e.method = string(unquote(raw))
			}
		case "params":
			e.params = raw
		}
	}
	return e, checkParams(e.id, e.method, e.params)
}

// respelled returns the key of the protocol that a key equals but for case, or
// "". Without this the SDK would not see it, and take a call for a notice.
func respelled(key []byte) string {
	for _, known := range [...]string{"jsonrpc", "id", "method", "params", "result", "error"} {
		if len(key) == len(known) && string(key) != known && strings.EqualFold(string(key), known) {
			return known
		}
	}
	return ""
}

// integer reports whether a valid JSON number is whole and exact as the SDK
// keeps it, in a float.
func integer(raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n >= -1<<53 && n <= 1<<53
}

func checkParams(id []byte, method string, params []byte) *fault {
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	if key, twice := repeated(params); twice {
		return &fault{id, jsonrpc.CodeInvalidParams, "key " + strconv.Quote(key) + " is given twice in params"}
	}
	for key, raw := range members(params) {
		if string(key) == "_meta" && raw[0] == '{' {
			if key, twice := repeated(raw); twice {
				return &fault{id, jsonrpc.CodeInvalidParams, "key " + strconv.Quote(key) + " is given twice in params._meta"}
			}
		}
		if want := wanted(method, string(key), raw); want != "" {
			return &fault{id, jsonrpc.CodeInvalidParams, "params." + string(key) + " must be " + want}
		}
	}
	return nil
}

// wanted returns what a parameter of a call should have been, or "".
func wanted(method, key string, raw []byte) string {
	if method != "tools/call" {
		return ""
	}
	switch key {
	case "name", "requestState":
		if raw[0] != '"' {
			return "a string"
		}
	case "arguments", "_meta", "inputResponses":
		if raw[0] != '{' && raw[0] != 'n' {
			return "an object"
		}
	}
	return ""
}

// repeated finds a key that is given twice, or that differs from another only
// by case.
func repeated(object []byte) (string, bool) {
	var few [16][]byte
	seen := few[:0]
	var many map[string]bool
	for key := range members(object) {
		if len(seen) < len(few) {
			for _, other := range seen {
				if bytes.EqualFold(other, key) {
					return string(key), true
				}
			}
			seen = append(seen, key)
			continue
		}
		if many == nil {
			many = map[string]bool{}
			for _, other := range seen {
				many[folded(other)] = true
			}
		}
		if many[folded(key)] {
			return string(key), true
		}
		many[folded(key)] = true
	}
	return "", false
}

// folded is equal for keys that bytes.EqualFold takes as equal.
func folded(key []byte) string { return strings.ToLower(strings.ToUpper(string(key))) }

// deeper reports whether valid JSON has more than limit levels.
func deeper(data []byte, limit int) bool {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) <= limit {
		return false // as nearly always, and at next to no cost
	}
	depth, quoted := 0, false
	for at := 0; at < len(data); at++ {
		switch c := data[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// members walks the fields of a valid JSON object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		at := space(object, 1)
		for object[at] != '}' {
			end := skip(object, at)
			key := unquote(object[at:end])
			at = space(object, space(object, end)+1) // over the colon
			end = skip(object, at)
			if !yield(key, object[at:end]) {
				return
			}
			if at = space(object, end); object[at] == ',' {
				at = space(object, at+1)
			}
		}
	}
}

// elements walks the items of a valid JSON array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		at := space(array, 1)
		for array[at] != ']' {
			end := skip(array, at)
			if !yield(array[at:end]) {
				return
			}
			if at = space(array, end); array[at] == ',' {
				at = space(array, at+1)
			}
		}
	}
}

// unquote returns the text of a JSON string, without a copy when it can.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var text string
	_ = json.Unmarshal(raw, &text) // raw is a valid JSON string
	return []byte(text)
}

func space(data []byte, at int) int {
	for data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r' {
		at++
	}
	return at
}

// skip returns the end of the valid JSON value that begins at a place.
func skip(data []byte, at int) int {
	depth := 0
	for {
		switch data[at] {
		case '"':
			for at++; data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
		default:
			for at+1 < len(data) && strings.IndexByte(",:]} \t\r\n", data[at+1]) < 0 {
				at++
			}
		}
		at++
		if depth == 0 {
			return at
		}
	}
}
