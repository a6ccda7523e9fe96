package httpcall

import (
	"net/http"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// methods are those that a tool may use.
func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}
}

// method settles how the request is made. An argument may choose only among
// words that its schema lists.
func (c *compiler) method() choice {
	text := c.doc.Method
	if text == "" {
		text = http.MethodGet
	}
	parsed := c.template(text, template.Word, "method")
	slot, whole := parsed.Whole()
	if !whole {
		if !slices.Contains(methods(), text) {
			c.errorf([]any{"method"}, "http-method", "%q is not a method of this executor", text).Hinted("%s", diag.OneOf(methods()))
		}
		return choice{literal: text}
	}
	found, _, _ := c.slots.Lookup(slot)
	for _, word := range found.Enum {
		if text, ok := word.(string); !ok || !slices.Contains(methods(), text) {
			c.errorf([]any{"method"}, "http-method", "%s may be %v, which is not a method of this executor", strings.Join(slot, "."), word).
				Hinted("%s", diag.OneOf(methods()))
		}
	}
	if len(found.Enum) == 0 {
		c.errorf([]any{"method"}, "http-method", "%s may be any text", strings.Join(slot, ".")).Hinted("give the argument an enum of methods")
	}
	return choice{slot: parsed}
}

// headers compiles what the tool itself sends.
func (c *compiler) headers(to *connection) []field {
	var fields []field
	for _, name := range value.Keys(c.doc.Headers) {
		canonical := http.CanonicalHeaderKey(name)
		why := refuseHeader(name)
		same := func(f field) bool { return f.name == canonical }
		switch {
		case why != "":
		case slices.ContainsFunc(fields, same):
			why = "it is given twice"
		case to != nil && slices.ContainsFunc(to.sealed, same):
			why = "the connection sets it"
		}
		if why != "" {
			c.errorf([]any{"headers", name}, "http-header", "header %s: %s", name, why)
			continue
		}
		fields = append(fields, field{canonical, c.template(c.doc.Headers[name], template.Key, "headers", name)})
	}
	return fields
}

// refuseHeader says why a document may not set a header, or "".
func refuseHeader(name string) string {
	token := func(r rune) bool {
		return r < '0' && !strings.ContainsRune("!#$%&'*+-.", r) || r > '9' && r < 'A' || r > 'Z' && r < '^' || r == '{' || r == '}' || r > '~'
	}
	switch lower := strings.ToLower(name); {
	case name == "" || strings.ContainsFunc(name, token):
		return "it is not a header name, and a name takes no slot"
	case strings.HasPrefix(lower, "proxy-") || slices.Contains([]string{
		"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", "accept-encoding", "range",
	}, lower):
		return "it is set by Writ, or would change how the message is read"
	}
	return ""
}

// body is what a request carries.
type body struct {
	json *template.JSON
	form []field
}

func (c *compiler) body(method choice) body {
	doc := c.doc
	if len(doc.JSON) == 0 && doc.Form == nil {
		return body{}
	}
	if len(doc.JSON) > 0 && doc.Form != nil {
		c.errorf([]any{"form"}, "http-body", "give either json or form")
	}
	if method.literal == http.MethodGet || method.literal == http.MethodHead {
		c.errorf([]any{"method"}, "http-body", "%s carries no body", method.literal).Hinted("write method: POST")
	}
	var b body
	if len(doc.JSON) > 0 {
		parsed, problems := template.ParseJSON(doc.JSON, func(path ...any) diag.Position {
			return c.at(append([]any{"json"}, path...)...)
		})
		if !problems.HasErrors() {
			problems = append(problems, parsed.Check(c.slots)...)
		}
		c.problems = append(c.problems, problems...)
		b.json = parsed
	}
	for _, name := range value.Keys(doc.Form) {
		b.form = append(b.form, field{name, c.template(doc.Form[name], template.Key, "form", name)})
	}
	return b
}

// limit settles how much of an answer is read.
func (c *compiler) limit() limit {
	l := limit{fixed: AnswerDefault, most: AnswerLimit}
	if c.doc.Save != "" {
		l = limit{fixed: SaveDefault, most: SaveLimit}
	}
	text := c.doc.MaxBytes
	if text == "" {
		return l
	}
	if strings.Contains(text, "${") {
		l.slot = c.template(text, template.Word, "max_bytes")
		slot, whole := l.slot.Whole()
		if found, _, _ := c.slots.Lookup(slot); !whole || found.Kind != value.Integer {
			c.errorf([]any{"max_bytes"}, "http-max-bytes", "max_bytes is a size, or one slot that is an integer")
		}
		return l
	}
	size, err := document.ParseSize(text)
	switch {
	case err != nil:
		c.errorf([]any{"max_bytes"}, "http-max-bytes", "%v", err)
	case size < 1 || int64(size) > l.most:
		c.errorf([]any{"max_bytes"}, "http-max-bytes", "max_bytes is at most %s here", document.Size(l.most))
	}
	l.fixed = int64(size)
	return l
}
