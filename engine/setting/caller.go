package setting

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/engine/diag"
)

// claimsOf reads the declared claims ahead of everything else, because
// callers may stand before them. Mistakes are found when their turn comes.
func claimsOf(root *yaml.Node) map[string]string {
	declared := map[string]string{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "claims" {
			continue
		}
		claims := root.Content[i+1]
		for j := 0; j+1 < len(claims.Content); j += 2 {
			declared[claims.Content[j].Value] = claims.Content[j+1].Value
		}
		break
	}
	return declared
}

func (f *file) callers(n *yaml.Node) (any, bool) {
	if !f.plain(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxItems {
		f.errorf(n, "wrong-type", "callers must be a list of at most %d, not %s", maxItems, describe(n))
		return nil, false
	}
	before := f.list.Errors()
	names, tokens := map[string]*yaml.Node{}, map[string]*yaml.Node{}
	callers := make([]Caller, 0, len(n.Content))
	for _, item := range n.Content {
		c := f.caller(item)
		f.once(names, c.Name, item, "caller %q is written twice", c.Name)
		f.once(tokens, c.TokenSHA256, item, "caller %s has the token of another", c.Name)
		callers = append(callers, c)
	}
	return callers, f.list.Errors() == before
}

func (f *file) once(seen map[string]*yaml.Node, key string, n *yaml.Node, format string, args ...any) {
	if key == "" {
		return
	}
	if first := seen[key]; first != nil {
		f.errorf(n, "duplicate", format, args...).Also(f.position(first), "the first one")
		return
	}
	seen[key] = n
}

func (f *file) caller(n *yaml.Node) (c Caller) {
	if !f.plain(n) {
		return c
	}
	if n.Kind != yaml.MappingNode {
		f.errorf(n, "wrong-type", "a caller must be a map, not %s", describe(n)).Hinted("write {name: …, token_sha256: …}")
		return c
	}
	known := []string{"name", "roles", "claims", "token_sha256"}
	var named, token *yaml.Node
	for key, item := range f.pairs(n) {
		switch key.Value {
		case "name":
			named = item
			c.Name, _ = f.text(item, "name")
		case "roles":
			c.Roles, _ = f.texts(item, "roles", regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`))
		case "claims":
			c.Claims = f.callerClaims(item)
		case "token_sha256":
			token = item
			c.TokenSHA256 = f.sum(item)
		case "token":
			f.errorf(key, "unknown-key", "a token does not stand in a file").Hinted("write token_sha256, the output of: printf %%s TOKEN | sha256sum")
		default:
			f.errorf(key, "unknown-key", "unknown key %q", key.Value).Hinted("%s", orOneOf(key.Value, known))
		}
	}
	f.checkCaller(n, c, named, token)
	return c
}

func (f *file) checkCaller(n *yaml.Node, c Caller, named, token *yaml.Node) {
	user, local := strings.CutPrefix(c.Name, LocalPrefix)
	switch {
	case named == nil:
		f.errorf(n, "missing-key", "a caller needs a name")
	case c.Name == "": // reported
	case local && (user == "" || len(user) > 64):
		f.errorf(named, "invalid", "local: needs the name of a user behind it, at most 64 bytes")
	case !local && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`).MatchString(c.Name):
		f.errorf(named, "invalid", "%q is not a name of a caller", c.Name).Hinted("use letters, digits and . _ @ -, at most 64; or local:USER")
	case local && token != nil:
		f.errorf(token, "invalid", "%s is known by its user id and has no token", c.Name).Hinted("remove token_sha256")
	case !local && token == nil && c.Name != DefaultCaller:
		f.errorf(n, "missing-key", "caller %s could never call", c.Name).Hinted("give token_sha256, the output of: printf %%s TOKEN | sha256sum")
	}
}

func (f *file) sum(n *yaml.Node) string {
	text, ok := f.text(n, "token_sha256")
	if ok && !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(text) {
		f.errorf(n, "invalid", "token_sha256 must be 64 lower-case hexadecimal digits").Hinted("printf %%s TOKEN | sha256sum")
		return ""
	}
	return text
}

func (f *file) callerClaims(n *yaml.Node) map[string]any {
	claims, _ := f.mapOf(n, "claims", claimForm(), func(key, item *yaml.Node) (any, bool) {
		kind, ok := f.claims[key.Value]
		if !ok {
			declared := make([]string, 0, len(f.claims))
			for name := range f.claims {
				declared = append(declared, name)
			}
			slices.Sort(declared)
			hint := diag.DidYouMean(key.Value, declared)
			if hint == "" {
				hint = "declare it at the top: claims: {" + key.Value + ": string}"
			}
			f.errorf(key, "unknown-key", "claim %q is not declared", key.Value).Hinted("%s", hint)
			return nil, false
		}
		return f.claim(item, key.Value, kind)
	})
	return claims
}

func orOneOf(name string, known []string) string {
	if hint := diag.DidYouMean(name, known); hint != "" {
		return hint
	}
	return diag.OneOf(known)
}
