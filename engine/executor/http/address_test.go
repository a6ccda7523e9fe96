package httpcall_test

import (
	"net/url"
	"strings"
	"testing"
)

// checkAddress takes a rendered address apart as a server would.
func checkAddress(t *testing.T, text, first, second string) {
	t.Helper()
	address, err := url.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if address.Scheme != "https" || address.Host != "example.com" || address.User != nil || address.Fragment != "" {
		t.Fatalf("%q leads elsewhere", text)
	}
	segments := strings.Split(address.EscapedPath(), "/")
	if len(segments) != 4 || segments[1] != "one" || !strings.HasPrefix(segments[3], "two-") {
		t.Fatalf("%q has another path", text)
	}
	for _, segment := range segments[1:] {
		decoded, err := url.PathUnescape(segment)
		if err != nil || decoded == "." || decoded == ".." {
			t.Fatalf("%q holds a step: %v", text, err)
		}
	}
	if got, _ := url.PathUnescape(segments[2]); got != first {
		t.Fatalf("%q holds %q, want %q", text, got, first)
	}
	query, err := url.ParseQuery(address.RawQuery)
	if err != nil || len(query) != 2 || query.Get("q") != second || query.Get("r") != first {
		t.Fatalf("%q has another query: %v, %v", text, query, err)
	}
}
