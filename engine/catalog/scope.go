package catalog

import (
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/value"
)

// checkScope refuses scopes of a match that no call can have.
func (b *build) checkScope(x index, m *document.Match, source *document.Source) {
	if m.AllowNone {
		return
	}
	for _, key := range value.Keys(m.Scope) {
		if !x.scopes[key] {
			b.problems.Errorf(source.Key("match", "scope", key), "unknown-scope", "no tool has a scope %q", key).
				Hinted("%s", diag.DidYouMean(key, value.Keys(x.scopes)))
			continue
		}
		for i, name := range m.Tools {
			if t := b.catalog.byName[name]; t != nil && !hasKey(t.Document.Scope, key) {
				b.problems.Errorf(source.Key("match", "scope", key), "unknown-scope", "tool %s, which this match names, has no scope %q", name, key).
					Hinted("%s", diag.DidYouMean(key, value.Keys(t.Document.Scope))).Also(source.At("match", "tools", i), "named here")
			}
		}
		b.checkScopeValues(m, key, source)
	}
}

// checkScopeValues finds values that the scope of no covered tool can have,
// such as a misspelt word of an enumeration.
func (b *build) checkScopeValues(m *document.Match, key string, source *document.Source) {
	covered := b.covered(match.Compile(m))
	for i, item := range m.Scope[key] {
		possible, words := len(covered) == 0, []string(nil)
		for _, t := range covered {
			fits, known := canBe(t.RuleTarget().Environment, key, item)
			possible, words = possible || fits, append(words, known...)
		}
		if !possible {
			b.problems.Errorf(source.At("match", "scope", key, i), "never-true", "the scope %s is never %q", key, item).
				Hinted("%s", nearest(item, words))
		}
	}
}

// canBe reports whether a scope can have a value, and names the values that
// it can have when they are known.
func canBe(environment value.Type, key, item string) (fits bool, words []string) {
	t, _, ok := environment.Lookup([]string{"scope", key})
	if !ok {
		return true, nil
	}
	if (t.Format == "hostname" || t.Format == "uuid") && item != strings.ToLower(item) {
		return false, []string{strings.ToLower(item)}
	}
	if len(t.Enum) == 0 {
		return true, nil
	}
	for _, v := range t.Enum {
		if word, ok := value.Text(v); ok {
			words = append(words, word)
			fits = fits || match.Item(item, word)
		}
	}
	return fits, words
}

func nearest(item string, words []string) string {
	if hint := diag.DidYouMean(item, words); hint != "" || len(words) == 0 {
		return hint
	}
	return "it is " + diag.OneOf(words)
}

func hasKey(m map[string]string, key string) bool { _, ok := m[key]; return ok }
