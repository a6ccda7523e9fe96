package setting

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/engine/diag"
)

// MaxFile bounds writ.yaml, in bytes.
const MaxFile = 256 << 10

// file is writ.yaml while it is read: strictly, from the nodes of YAML, so
// that every mistake has a place and nothing is guessed.
type file struct {
	name   string
	list   diag.List
	values map[string]any // by dotted key
	at     map[string]diag.Position
	claims map[string]string
}

func readFile(name string, data []byte) *file {
	f := &file{name: name, values: map[string]any{}, at: map[string]diag.Position{}}
	root := f.parse(data)
	if root == nil {
		return f
	}
	if root.Kind != yaml.MappingNode {
		f.errorf(root, "wrong-type", "writ.yaml must be a map of settings").Hinted("begin with version: 1")
		return f
	}
	f.claims = claimsOf(root)
	f.settings(root, "")
	if _, ok := f.at["version"]; !ok {
		f.errorf(root, "missing-key", "version is missing").Hinted("write version: 1 at the top")
	}
	return f
}

func (f *file) parse(data []byte) *yaml.Node {
	at := diag.Position{File: f.name}
	if len(data) > MaxFile {
		f.list.Errorf(at, "too-large", "the file is larger than %s", Size(MaxFile))
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		f.list.Errorf(at, "missing-key", "the file is empty").Hinted("write version: 1 at the top")
		return nil
	case err != nil:
		f.syntax(err)
		return nil
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			f.syntax(err)
		} else {
			f.errorf(&second, "syntax", "writ.yaml has a second document").Hinted("keep one, without ---")
		}
		return nil
	}
	return document.Content[0]
}

// syntax takes the line out of what the YAML library says.
func (f *file) syntax(err error) {
	at := diag.Position{File: f.name}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := regexp.MustCompile(`^line ([0-9]+): `).FindStringSubmatch(message); found != nil {
		at.Line, _ = strconv.Atoi(found[1])
		message = message[len(found[0]):]
	}
	f.list.Errorf(at, "syntax", "not valid YAML: %s", message)
}

func (f *file) errorf(n *yaml.Node, code, format string, args ...any) *diag.Diagnostic {
	return f.list.Errorf(f.position(n), code, format, args...)
}

func (f *file) position(n *yaml.Node) diag.Position {
	return diag.Position{File: f.name, Line: n.Line, Column: n.Column}
}

// settings reads one level of the table: the whole file, or the keys below
// limits and tls.
func (f *file) settings(node *yaml.Node, prefix string) {
	for key, item := range f.pairs(node) {
		name := prefix + key.Value
		entry, nested, known := lookUp(name)
		switch {
		case nested && item.Kind == yaml.MappingNode:
			f.settings(item, name+".")
		case nested:
			f.errorf(item, "wrong-type", "%s must be a map", name)
		case !known:
			f.unknown(key, name, prefix)
		default:
			f.at[name] = f.position(item)
			if v, ok := f.value(entry, item); ok {
				f.values[name] = v
			}
		}
	}
}

func (f *file) unknown(key *yaml.Node, name, prefix string) {
	if slices.Contains(Reserved(), name) {
		f.errorf(key, "not-yet", "%s is not yet available", name).Hinted("remove it; a later version will know it")
		return
	}
	var known []string
	for _, e := range Table() {
		rest, ok := strings.CutPrefix(e.Key, prefix)
		if ok && !e.Elsewhere {
			first, _, _ := strings.Cut(rest, ".")
			known = append(known, first)
		}
		if e.Elsewhere && e.Key == name {
			f.errorf(key, "unknown-key", "%s cannot be set here", name).Hinted("use --%s or %s", e.Flag(), e.Variable())
			return
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	hint := diag.DidYouMean(key.Value, known)
	f.errorf(key, "unknown-key", "unknown key %q", name).Hinted("%s", cmp.Or(hint, diag.OneOf(known)))
}

// lookUp finds a setting of writ.yaml, or says that others are nested below.
func lookUp(name string) (entry Entry, nested, known bool) {
	for _, e := range Table() {
		if e.Key == name && !e.Elsewhere {
			return e, false, true
		}
		nested = nested || strings.HasPrefix(e.Key, name+".")
	}
	return Entry{}, nested, false
}

// pairs gives the keys and values of a map. It reports what is wrong with the
// keys, and leaves out a key that was there before.
func (f *file) pairs(node *yaml.Node) func(yield func(key, item *yaml.Node) bool) {
	return func(yield func(key, item *yaml.Node) bool) {
		if !f.plain(node) {
			return
		}
		if len(node.Content) > 2*maxItems {
			f.errorf(node, "too-large", "a map may have %d keys at most", maxItems)
			return
		}
		seen := map[string]*yaml.Node{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, item := node.Content[i], node.Content[i+1]
			if key.Tag == "!!merge" {
				f.errorf(key, "not-plain", "<< is not allowed").Hinted("write the keys out")
				continue
			}
			if key.Kind != yaml.ScalarNode {
				f.errorf(key, "wrong-type", "a key must be a word")
				continue
			}
			if !f.plain(key) {
				continue
			}
			if first := seen[key.Value]; first != nil {
				f.errorf(key, "duplicate-key", "%q is written twice", key.Value).Also(f.position(first), "the first one")
				continue
			}
			seen[key.Value] = key
			if !yield(key, item) {
				return
			}
		}
	}
}

// plain refuses what would make a value differ from its text.
func (f *file) plain(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		f.errorf(n, "not-plain", "an alias is not allowed").Hinted("write the value out, or quote a text that begins with *")
	case n.Anchor != "":
		f.errorf(n, "not-plain", "an anchor is not allowed").Hinted("write the value out, or quote a text that begins with &")
	case n.Style&yaml.TaggedStyle != 0:
		f.errorf(n, "not-plain", "a tag is not allowed").Hinted("quote a text that begins with !")
	default:
		return true
	}
	return false
}
