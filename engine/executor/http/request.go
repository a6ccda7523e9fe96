package httpcall

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// request is one request, exact but for its secrets.
type request struct {
	method  string
	address *url.URL
	fields  []pair
	media   string // of the body, or ""
	body    []byte
	limit   int64
}

type pair struct{ name, text string }

// render makes the request of one call from its canonical arguments.
func (e *Executor) render(arguments map[string]any) (*request, error) {
	lookup := template.Values(map[string]any{"args": arguments})
	r := &request{method: e.method.literal}
	var err error
	if e.method.slot != nil {
		if r.method, err = e.method.slot.Text(lookup); err != nil {
			return nil, fmt.Errorf("method: %w", err)
		}
	}
	if r.address, err = e.target.render(lookup); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if r.limit, err = e.limit.render(lookup); err != nil {
		return nil, fmt.Errorf("max_bytes: %w", err)
	}
	for _, f := range e.fields {
		texts, err := renderTexts(f.value, lookup)
		if err == nil && len(texts) > 1 {
			err = errors.New("a header is one text, not a list")
		}
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", f.name, err)
		}
		for _, text := range texts {
			if err := checkHeader(text); err != nil {
				return nil, fmt.Errorf("header %s: %w", f.name, err)
			}
			r.fields = append(r.fields, pair{f.name, text})
		}
	}
	if err := e.body.render(r, lookup); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return r, nil
}

func (b body) render(r *request, lookup template.Lookup) error {
	switch {
	case b.json != nil:
		rendered, err := b.json.Render(lookup)
		if err != nil {
			return err
		}
		r.media, r.body = "application/json", value.JSON(rendered)
	case b.form != nil:
		pairs, err := renderPairs(b.form, lookup)
		if err != nil {
			return err
		}
		r.media, r.body = "application/x-www-form-urlencoded", []byte(pairs)
	default:
		return nil
	}
	if r.method == http.MethodGet || r.method == http.MethodHead {
		return fmt.Errorf("%s carries none", r.method)
	}
	if len(r.body) > BodyLimit {
		return fmt.Errorf("it has %d bytes, at most %d are sent", len(r.body), BodyLimit)
	}
	return nil
}

func (l limit) render(lookup template.Lookup) (int64, error) {
	if l.slot == nil {
		return l.fixed, nil
	}
	v, _, err := l.slot.Value(lookup)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > l.most {
		return 0, fmt.Errorf("give 1 to %d bytes (%s)", l.most, document.Size(l.most))
	}
	return n, nil
}

// renderTexts gives no text for an absent value, and one for each element of a
// list.
func renderTexts(t *template.Template, lookup template.Lookup) ([]string, error) {
	v, present, err := t.Value(lookup)
	if err != nil || !present {
		return nil, err
	}
	items, isList := v.([]any)
	if !isList {
		items = []any{v}
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := value.Text(item)
		if !ok {
			return nil, errors.New("an object has no text")
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// checkHeader refuses what would end the header and begin another.
func checkHeader(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return isControl(r) || r > 0x7e }) {
		return errors.New("a header holds printable ASCII characters only")
	}
	if strings.TrimSpace(text) != text {
		return errors.New("a header neither begins nor ends with a space")
	}
	if len(text) > urlLimit {
		return fmt.Errorf("a header is at most %d KiB long", urlLimit>>10)
	}
	return nil
}

// bound is the request as an approval binds it.
func (e *Executor) bound(r *request) map[string]any {
	fields := map[string]any{}
	for _, f := range r.fields {
		fields[f.name] = f.text
	}
	words := make([]any, len(e.reach.words))
	for i, word := range e.reach.words {
		words[i] = word
	}
	bound := map[string]any{
		"method": r.method, "url": r.address.String(), "headers": fields, "allow": words,
		"redirects": int64(e.reach.redirects), "max_bytes": r.limit,
	}
	if r.media != "" {
		bound["body"], bound["body_type"] = string(r.body), r.media
	}
	return bound
}

// preview is the request as an approver reads it: secrets by their names.
func (e *Executor) preview(r *request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.method, r.address)
	if e.connection != nil {
		for _, f := range e.connection.sealed {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.value.Source())
		}
	}
	for _, f := range r.fields {
		fmt.Fprintf(&b, "%s: %s\n", f.name, f.text)
	}
	if e.reach.redirects > 0 {
		fmt.Fprintf(&b, "up to %d redirects are followed\n", e.reach.redirects)
	}
	if r.media != "" {
		fmt.Fprintf(&b, "Content-Type: %s\n\n%s\n", r.media, r.body)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
