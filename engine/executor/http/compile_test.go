package httpcall_test

import (
	"encoding/json"
	"testing"

	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
)

func TestCompileRefuses(t *testing.T) {
	for name, doc := range map[string]document.HTTP{
		"nothing":                {},
		"both":                   {URL: "${args.url}", Connection: "api", Path: "/"},
		"path without":           {URL: "${args.url}", Path: "/"},
		"unknown connection":     {Connection: "apl", Path: "/"},
		"path with query":        {Connection: "api", Path: "/x?y"},
		"relative path":          {Connection: "api", Path: "x"},
		"scheme from a slot":     {URL: "${args.a}://example.com/"},
		"other scheme":           {URL: "ftp://example.com/${args.a}"},
		"credentials":            {URL: "https://u:${args.a}@example.com/"},
		"fragment":               {URL: "https://example.com/#${args.a}"},
		"space":                  {URL: "https://example.com/a b"},
		"unknown argument":       {URL: "https://example.com/${args.nope}"},
		"absent in a path":       {URL: "https://example.com/${args.maybe}"},
		"secret in a url":        {URL: "https://example.com/${secrets.token}"},
		"secret in a header":     {Connection: "api", Path: "/", Headers: map[string]string{"X": "${secrets.token}"}},
		"method":                 {URL: "${args.url}", Method: "CONNECT"},
		"lower-case method":      {URL: "${args.url}", Method: "get"},
		"free method":            {URL: "${args.url}", Method: "${args.a}"},
		"enum of methods":        {URL: "${args.url}", Method: "${args.wild}"},
		"header name from slot":  {URL: "${args.url}", Headers: map[string]string{"X-${args.a}": "1"}},
		"host header":            {URL: "${args.url}", Headers: map[string]string{"host": "1"}},
		"length header":          {URL: "${args.url}", Headers: map[string]string{"Content-Length": "1"}},
		"proxy header":           {URL: "${args.url}", Headers: map[string]string{"Proxy-Authorization": "1"}},
		"header twice":           {URL: "${args.url}", Headers: map[string]string{"X-A": "1", "x-a": "2"}},
		"header of connection":   {Connection: "api", Path: "/", Headers: map[string]string{"authorization": "x"}},
		"allow of connection":    {Connection: "api", Path: "/", Allow: []string{"private"}},
		"redirect of connection": {Connection: "api", Path: "/", Redirects: 1},
		"allow":                  {URL: "${args.url}", Allow: []string{"10.0.0.1"}},
		"redirects":              {URL: "${args.url}", Redirects: 11},
		"body of GET":            {URL: "${args.url}", JSON: json.RawMessage(`{}`)},
		"two bodies":             {URL: "${args.url}", Method: "POST", JSON: json.RawMessage(`{}`), Form: map[string]string{"a": "b"}},
		"size":                   {URL: "${args.url}", MaxBytes: "3MiB"},
		"size word":              {URL: "${args.url}", MaxBytes: "many"},
		"size of text":           {URL: "${args.url}", MaxBytes: "${args.a}"},
		"save to no path":        {URL: "${args.url}", Save: "${args.a}"},
		"save to a literal":      {URL: "${args.url}", Save: "/tmp/x"},
		"save of POST":           {URL: "${args.url}", Method: "POST", Save: "${args.path}"},
	} {
		b := newBench(doc)
		b.connections = connectionTo("https://here.example.com/v1")
		if _, problems := b.compile(); !problems.HasErrors() {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCompileRefusesConnections(t *testing.T) {
	for name, change := range map[string]func(*document.Connection){
		"slot in base_url":  func(c *document.Connection) { c.HTTP.BaseURL = "https://${args.a}/" },
		"query in base_url": func(c *document.Connection) { c.HTTP.BaseURL = "https://example.com/?a=b" },
		"credentials":       func(c *document.Connection) { c.HTTP.BaseURL = "https://u:p@example.com/" },
		"unknown secret":    func(c *document.Connection) { c.HTTP.Headers["X"] = "${secrets.none}" },
		"argument":          func(c *document.Connection) { c.HTTP.Headers["X"] = "${args.a}" },
		"header":            func(c *document.Connection) { c.HTTP.Headers["Host"] = "x" },
		"allow":             func(c *document.Connection) { c.HTTP.Allow = []string{"All"} },
		"rate":              func(c *document.Connection) { c.Rate = &document.Rate{Calls: 0, Every: 1} },
		"retry":             func(c *document.Connection) { c.Retry = &document.Retry{Max: 1, WhenFailed: []string{"200"}} },
		"retries":           func(c *document.Connection) { c.Retry = &document.Retry{Max: 100, WhenFailed: []string{"connect"}} },
	} {
		b := newBench(document.HTTP{Connection: "api", Path: "/"})
		b.connections = connectionTo("https://here.example.com/v1")
		change(b.connections["api"])
		if _, problems := b.compile(); !problems.HasErrors() {
			t.Errorf("%s was accepted", name)
		}
	}
	b := newBench(document.HTTP{Connection: "other", Path: "/"})
	b.connections = connectionTo("https://here.example.com/v1")
	b.connections["other"] = b.connections["api"]
	b.connections["other"].Name = "other"
	if _, problems := b.compile(); !problems.HasErrors() {
		t.Error("a secret was given to a connection that it is not for")
	}
}

// Whatever the values are, they change neither host nor depth of the path.
func FuzzAddress(f *testing.F) {
	for _, seed := range [][2]string{{"a", "b"}, {"..", "%2e%2e"}, {"/", "?"}, {"a#b", "@evil.example"}, {"\\", "é"}, {"%", "%zz"}, {";", "a&b=c"}} {
		f.Add(seed[0], seed[1])
	}
	b := newBench(document.HTTP{URL: "https://example.com/one/${args.a}/two-${args.b}?q=${args.b}", Query: map[string]string{"r": "${args.a}"}})
	e, problems := b.compile()
	if problems.HasErrors() {
		f.Fatal(problems.Err())
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		effect, err := e.Prepare(t.Context(), executor.Input{Offline: true, Arguments: map[string]any{"a": first, "b": second}})
		if err != nil {
			return
		}
		checkAddress(t, effect.Bound["url"].(string), first, second)
	})
}
