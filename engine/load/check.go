package load

import (
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// Lengths of a tool's name. Clients put a prefix of their own before it and
// refuse more than 64 characters in all.
const (
	comfortableName = 48
	longestTimeout  = 24 * time.Hour
)

// check looks for what the grammar cannot say about one document.
func check(doc any, problems *diag.List) {
	switch d := doc.(type) {
	case *document.Tool:
		checkTool(d, problems)
	case *document.Connection:
		checkConnection(d, problems)
	case *document.Secret:
		checkSecret(d, problems)
	case *document.Grant:
		checkGrant(d, problems)
	case *document.Test:
		if d.Given.Now != "" {
			if _, err := time.Parse(time.RFC3339, d.Given.Now); err != nil {
				problems.Errorf(d.Source.At("given", "now"), "wrong-value", "given.now is no time: there is no such day or hour")
			}
		}
	}
}

// choice is one of several keys of which one is written.
type choice struct {
	key     string
	written bool
}

// one reports when not exactly one is written (none may be, unless must).
func one(source *document.Source, problems *diag.List, owner string, must bool, path []any, choices ...choice) {
	var keys, written []string
	for _, c := range choices {
		keys = append(keys, c.key)
		if c.written {
			written = append(written, c.key)
		}
	}
	switch {
	case len(written) == 0 && must:
		problems.Errorf(source.At(path...), "missing-key", "%s needs exactly %s", owner, diag.OneOf(keys))
	case len(written) > 1:
		at := func(key string) diag.Position { return source.Key(append(path[:len(path):len(path)], key)...) }
		d := problems.Errorf(at(written[1]), "one-of", "%s has %s and %s: write one of them", owner, written[0], written[1])
		d.Also(at(written[0]), "%s", written[0])
	}
}

func checkTool(d *document.Tool, problems *diag.List) {
	owner := "tool " + d.Name
	one(d.Source, problems, owner, true, nil, choice{"command", d.Command != nil}, choice{"http", d.HTTP != nil},
		choice{"tls", d.TLS != nil}, choice{"file", d.File != nil})
	one(d.Source, problems, owner, false, nil, choice{"args", d.Args != nil}, choice{"inputSchema", d.InputSchema != nil})
	if len(d.Name) > comfortableName {
		problems.Warnf(d.Source.At("name"), "long-name", "the name has %d characters, and clients that put a prefix before it take 64 in all", len(d.Name)).
			Hinted("use at most %d", comfortableName)
	}
	duration(d.Source, problems, d.Timeout, "timeout")
	if c := d.Command; c != nil {
		one(d.Source, problems, "command", false, []any{"command"}, choice{"stdin", c.Stdin != nil}, choice{"stdin_json", c.StdinJSON != nil})
		for name, option := range c.Options {
			one(d.Source, problems, "option "+name, true, []any{"command", "options", name},
				choice{"flag", option.Flag != ""}, choice{"choose", option.Choose != nil})
		}
	}
	if h := d.HTTP; h != nil {
		checkHTTP(d, h, problems)
	}
	if f := d.File; f != nil {
		checkFile(d, f, problems)
	}
}

func checkHTTP(d *document.Tool, h *document.HTTP, problems *diag.List) {
	one(d.Source, problems, "http", true, []any{"http"}, choice{"connection", h.Connection != ""}, choice{"url", h.URL != ""})
	if h.URL != "" {
		one(d.Source, problems, "http", false, []any{"http"}, choice{"url", true}, choice{"path", h.Path != ""})
	} else if h.Connection != "" && h.Path == "" {
		problems.Errorf(d.Source.At("http"), "missing-key", "http needs path beside connection")
	}
	one(d.Source, problems, "http", false, []any{"http"}, choice{"json", h.JSON != nil}, choice{"form", h.Form != nil})
	duration(d.Source, problems, h.TryTimeout, "http", "try_timeout")
}

func checkFile(d *document.Tool, f *document.File, problems *diag.List) {
	one(d.Source, problems, "file", true, []any{"file"}, choice{"read", f.Read != ""}, choice{"list", f.List != ""},
		choice{"search", f.Search != ""}, choice{"patch", f.Patch != ""})
	for _, part := range []struct{ of, name, owner, value string }{
		{f.Search, "query", "search", f.Query}, {f.Patch, "old_text", "patch", f.OldText}, {f.Patch, "new_text", "patch", f.NewText},
	} {
		switch {
		case part.of != "" && part.value == "":
			problems.Errorf(d.Source.At("file"), "missing-key", "file needs %s beside %s", part.name, part.owner)
		case part.of == "" && part.value != "":
			problems.Errorf(d.Source.Key("file", part.name), "unknown-key", "%s belongs to %s, which is not written", part.name, part.owner)
		}
	}
}

func checkConnection(d *document.Connection, problems *diag.List) {
	if d.Rate != nil {
		duration(d.Source, problems, d.Rate.Every, "rate", "every")
	}
	if d.Retry != nil {
		duration(d.Source, problems, d.Retry.Backoff, "retry", "backoff")
	}
}

func checkSecret(d *document.Secret, problems *diag.List) {
	one(d.Source, problems, "secret "+d.Name, true, nil, choice{"env", d.Env != ""}, choice{"file", d.File != ""})
	if len(d.For.Connections)+len(d.For.Tools) == 0 {
		problems.Errorf(d.Source.At("for"), "empty-list", "for names nobody, so the secret could not be used").
			Hinted("write for: {connections: [NAME]} or for: {tools: [NAME]}")
	}
}

// duration refuses what is written and not usable: nothing, or ages.
func duration(source *document.Source, problems *diag.List, d document.Duration, path ...any) {
	at := source.At(path...)
	if at == source.At(path[:len(path)-1]...) {
		return // not written
	}
	if d <= 0 || time.Duration(d) > longestTimeout {
		problems.Errorf(at, "out-of-range", "%v is %s, want more than 0s and at most %s", path[len(path)-1], time.Duration(d), longestTimeout)
	}
}

// checkGrant refuses days and hours that no calendar has.
func checkGrant(d *document.Grant, problems *diag.List) {
	if _, err := time.Parse(time.RFC3339, d.ExpiresAt); err != nil {
		problems.Errorf(d.Source.At("expires_at"), "wrong-value", "expires_at is no time: there is no such day or hour")
	}
	if _, err := time.Parse(time.DateOnly, d.Reviewed); d.Reviewed != "" && err != nil {
		problems.Errorf(d.Source.At("reviewed"), "wrong-value", "reviewed is no day: there is no such day")
	}
}
