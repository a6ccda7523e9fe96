package setting

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// approvers reads who may approve. That no approver holds the token of a
// caller is for identity to check, because tokens also come from elsewhere.
func (f *file) approvers(n *yaml.Node) (any, bool) {
	if !f.plain(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxItems {
		f.errorf(n, "wrong-type", "approvers must be a list of at most %d, not %s", maxItems, describe(n))
		return nil, false
	}
	before := f.list.Errors()
	names, tokens := map[string]*yaml.Node{}, map[string]*yaml.Node{}
	list := make([]Approver, 0, len(n.Content))
	for _, item := range n.Content {
		a := f.approver(item)
		f.once(names, a.Name, item, "approver %q is written twice", a.Name)
		f.once(tokens, a.TokenSHA256, item, "approver %s has the token of another", a.Name)
		list = append(list, a)
	}
	return list, f.list.Errors() == before
}

func (f *file) approver(n *yaml.Node) (a Approver) {
	if !f.plain(n) {
		return a
	}
	if n.Kind != yaml.MappingNode {
		f.errorf(n, "wrong-type", "an approver must be a map, not %s", describe(n)).Hinted("write {name: …, token_sha256: …}")
		return a
	}
	named, token := false, false
	for key, item := range f.pairs(n) {
		switch key.Value {
		case "name":
			named = true
			a.Name, _ = f.text(item, "name")
			if a.Name != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`).MatchString(a.Name) {
				f.errorf(item, "invalid", "%q is not a name of an approver", a.Name).Hinted("use letters, digits and . _ @ -, at most 64")
			}
		case "roles":
			a.Roles, _ = f.texts(item, "roles", regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`))
		case "token_sha256":
			token = true
			a.TokenSHA256 = f.sum(item)
		case "token":
			f.errorf(key, "unknown-key", "a token does not stand in a file").Hinted("write token_sha256, the output of: printf %%s TOKEN | sha256sum")
		default:
			f.errorf(key, "unknown-key", "unknown key %q", key.Value).Hinted("%s", orOneOf(key.Value, []string{"name", "roles", "token_sha256"}))
		}
	}
	if !named {
		f.errorf(n, "missing-key", "an approver needs a name")
	}
	if !token {
		f.errorf(n, "missing-key", "an approver needs a token that only the person knows").
			Hinted("give token_sha256, the output of: printf %%s TOKEN | sha256sum")
	}
	return a
}
