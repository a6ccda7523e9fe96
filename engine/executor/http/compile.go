package httpcall

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

type compiler struct {
	declaration executor.Declaration
	doc         *document.HTTP
	slots       value.Type
	problems    diag.List
}

func (c *compiler) at(path ...any) diag.Position {
	return c.declaration.Tool.Source.At(append([]any{"http"}, path...)...)
}

func (c *compiler) errorf(path []any, code, format string, args ...any) *diag.Diagnostic {
	return c.problems.Errorf(c.at(path...), code, format, args...)
}

// template parses and checks a template; it returns an empty one after an
// error, so that the rest can be checked too.
func (c *compiler) template(text string, place template.Place, path ...any) *template.Template {
	at := c.at(path...)
	parsed, problems := template.Parse(text, at)
	if !problems.HasErrors() {
		problems = append(problems, parsed.Check(c.slots, place)...)
	}
	c.problems = append(c.problems, problems...)
	if problems.HasErrors() {
		return new(template.Template)
	}
	return parsed
}

// address settles where requests go and who may widen it.
func (c *compiler) address(e *Executor) {
	doc := c.doc
	switch {
	case (doc.URL == "") == (doc.Connection == ""):
		c.errorf(nil, "http-address", "give either url, or connection and path")
	case doc.URL != "" && doc.Path != "":
		c.errorf([]any{"path"}, "http-address", "path belongs to a connection, write the whole address as url")
	case doc.URL != "":
		c.ownAddress(e)
	default:
		c.connectionAddress(e)
	}
	for _, name := range value.Keys(doc.Query) {
		e.target.params = append(e.target.params, field{name, c.template(doc.Query[name], template.Key, "query", name)})
	}
}

func (c *compiler) ownAddress(e *Executor) {
	parsed := c.template(c.doc.URL, template.Word, "url")
	if _, whole := parsed.Whole(); whole {
		e.target.caller = parsed
	} else if !c.problems.HasErrors() {
		split, err := parseTarget(c.doc.URL, func(text string) *template.Template {
			return c.template(text, template.Word, "url")
		})
		if err != nil {
			c.errorf([]any{"url"}, "http-url", "the url is not usable: %v", err)
			return
		}
		e.target = split
		c.trial(split, "url")
	}
	fixed := e.target.fixedHost()
	e.reach = c.reach(c.doc.Allow, c.doc.Redirects, c.at("allow"), fixed)
	e.reach.narrow = !fixed && e.reach.allow.Names()
	if c.doc.Redirects < 0 || c.doc.Redirects > RedirectLimit {
		c.errorf([]any{"redirects"}, "http-redirects", "redirects must be 0 to %d", RedirectLimit)
	}
}

// trial renders the address with harmless values: what fails then is wrong
// with the words of the author.
func (c *compiler) trial(t target, path ...any) {
	_, err := t.render(func([]string) (any, bool, error) { return "x", true, nil })
	if err != nil {
		c.errorf(path, "http-url", "the address is not usable: %v", err)
	}
}

func (c *compiler) reach(words []string, redirects int, at diag.Position, fixed bool) reach {
	allow, err := network.ParseAllow(words)
	if err != nil {
		c.problems.Errorf(at, "http-allow", "%v", err)
	}
	if fixed {
		allow = allow.TrustNames()
	}
	return reach{allow: allow, words: words, redirects: redirects}
}

func (c *compiler) connectionAddress(e *Executor) {
	doc := c.doc
	for key, present := range map[string]bool{"allow": len(doc.Allow) > 0, "redirects": doc.Redirects != 0} {
		if present {
			c.errorf([]any{key}, "http-connection", "%s belongs to the connection", key)
		}
	}
	found, ok := c.declaration.Connections[doc.Connection]
	if !ok {
		c.errorf([]any{"connection"}, "unknown-connection", "there is no connection %s", doc.Connection).
			Hinted("%s", diag.DidYouMean(doc.Connection, value.Keys(c.declaration.Connections)))
		return
	}
	if !strings.HasPrefix(doc.Path, "/") || strings.ContainsAny(doc.Path, "?#\\") {
		c.errorf([]any{"path"}, "http-path", "a path begins with / and has neither ? nor #").Hinted("parameters belong into query")
		return
	}
	e.connection = c.connection(found)
	if e.connection == nil {
		return
	}
	e.target = e.connection.base
	e.target.segments = slices.Concat(e.target.segments, parseSegments(doc.Path, func(text string) *template.Template {
		return c.template(text, template.Word, "path")
	}))
	e.reach = c.reach(found.HTTP.Allow, found.HTTP.Redirects, found.Source.At("http", "allow"), true)
	if !c.problems.HasErrors() {
		c.trial(e.target, "path")
	}
}

// connection compiles a Connection for one tool. Mistakes are reported where
// the Connection was written; the same ones of several tools fold into one.
func (c *compiler) connection(doc *document.Connection) *connection {
	compiled := &connection{name: doc.Name, rate: doc.Rate}
	report := func(path []any, code, format string, args ...any) *diag.Diagnostic {
		return c.problems.Errorf(doc.Source.At(path...), code, format, args...)
	}
	base, err := ParseURL(doc.HTTP.BaseURL)
	if err != nil || base.RawQuery != "" || base.ForceQuery || strings.Contains(doc.HTTP.BaseURL, "${") {
		d := report([]any{"http", "base_url"}, "connection-url", "base_url is not a plain http or https address")
		if err != nil {
			d.Hinted("%v", err)
		}
		return nil
	}
	fixed := func(text string) *template.Template {
		// A literal has no slot: an address may hold no $ followed by {.
		parsed, problems := template.Parse(text, doc.Source.At("http", "base_url"))
		c.problems = append(c.problems, problems...)
		return parsed
	}
	compiled.base = target{scheme: base.Scheme, authority: fixed(base.Host)}
	if prefix := strings.Trim(base.EscapedPath(), "/"); prefix != "" {
		compiled.base.segments = parseSegments(prefix, fixed)
	}
	compiled.sealed = c.sealed(doc)
	if doc.Rate != nil && (doc.Rate.Calls < 1 || doc.Rate.Calls > 100_000 || doc.Rate.Every <= 0) {
		report([]any{"rate"}, "connection-rate", "a rate is 1 to 100000 calls in a period longer than nothing")
	}
	if doc.HTTP.Redirects < 0 || doc.HTTP.Redirects > RedirectLimit {
		report([]any{"http", "redirects"}, "http-redirects", "redirects must be 0 to %d", RedirectLimit)
	}
	if doc.Retry != nil {
		compiled.retry = c.retry(doc)
	}
	return compiled
}

func (c *compiler) retry(doc *document.Connection) retry {
	written := doc.Retry
	r := retry{most: written.Max, backoff: time.Duration(written.Backoff)}
	if r.backoff <= 0 {
		r.backoff = backoffDefault
	}
	r.backoff = min(r.backoff, backoffLimit)
	if written.Max < 0 || written.Max > 10 {
		c.problems.Errorf(doc.Source.At("retry", "max"), "connection-retry", "retry at most 10 times")
	}
	for i, when := range written.WhenFailed {
		code, err := strconv.Atoi(when)
		switch {
		case when == "connect":
			r.connect = true
		case err != nil || code < 400 || code > 599:
			c.problems.Errorf(doc.Source.At("retry", "when_failed", i), "connection-retry", "%q is not a failure", when).
				Hinted(`write connect, or a status from "400" to "599"`)
		default:
			r.codes = append(r.codes, code)
		}
	}
	return r
}

// sealed compiles the headers of a Connection, which may hold secrets that
// name the Connection, and nothing of a call.
func (c *compiler) sealed(doc *document.Connection) []field {
	var fields []field
	for _, name := range value.Keys(doc.HTTP.Headers) {
		at := doc.Source.At("http", "headers", name)
		if why := refuseHeader(name); why != "" {
			c.problems.Errorf(at, "http-header", "header %s: %s", name, why)
			continue
		}
		parsed, problems := template.Parse(doc.HTTP.Headers[name], at)
		c.problems = append(c.problems, problems...)
		if parsed == nil {
			continue
		}
		for _, slot := range parsed.Slots() {
			c.secret(slot, doc.Name, at)
		}
		fields = append(fields, field{http.CanonicalHeaderKey(name), parsed})
	}
	return fields
}

func (c *compiler) secret(slot []string, connection string, at diag.Position) {
	if len(slot) != 2 || slot[0] != "secrets" {
		c.problems.Errorf(at, "unknown-slot", "a connection reads secrets only, not %s", strings.Join(slot, ".")).
			Hinted("write ${secrets.NAME}, or set the header in the tool")
		return
	}
	exists, allowed := false, false
	if c.declaration.Secrets != nil {
		exists, allowed = c.declaration.Secrets.Declared(slot[1], "", connection)
	}
	switch {
	case !exists:
		c.problems.Errorf(at, "unknown-secret", "there is no secret %s", slot[1]).Hinted("declare it in a document of kind Secret")
	case !allowed:
		c.problems.Errorf(at, "secret-not-for", "secret %s is not for connection %s", slot[1], connection).
			Hinted("name the connection under for: connections: of the secret")
	}
}

// save settles where a download goes.
func (c *compiler) save(e *Executor) string {
	if c.doc.Save == "" {
		return ""
	}
	if e.method.literal != http.MethodGet {
		c.errorf([]any{"save"}, "http-save", "only what GET fetches can be saved: it is fetched before anybody approves")
	}
	pointer, problem := "", "a file is named by exactly one slot"
	if slot, whole := c.template(c.doc.Save, template.Word, "save").Whole(); whole {
		var err error
		if pointer, err = executor.PathArgument(slot, c.declaration.Arguments); err == nil {
			return pointer
		}
		problem = err.Error()
	}
	c.errorf([]any{"save"}, "http-save", "%s", problem).
		Hinted(`write "${args.NAME}", the name of a required argument with format: path and under`)
	return pointer
}
