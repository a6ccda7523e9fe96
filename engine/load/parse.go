package load

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// parse turns the text of a file into documents.
func (l *Loader) parse(ctx context.Context, o Options, e *entry, text []byte) {
	var trees []tree
	switch filepath.Ext(e.path) {
	case ".json":
		trees = readJSON(e.path, text, &e.problems)
	case ".cue":
		trees, e.fleeting = readCUE(ctx, o, e.path, text, &e.problems)
	default:
		trees = readYAML(e.path, text, &e.problems)
	}
	for _, t := range trees {
		doc, problems := l.grammar.document(t)
		e.problems = append(e.problems, named(t, problems)...)
		if doc != nil {
			e.documents = append(e.documents, doc)
		}
	}
}

// named puts the name of a generated document before its mistakes, because
// CUE gives everything that one comprehension makes the same position.
func named(t tree, problems diag.List) diag.List {
	if t.maker == "" {
		return problems
	}
	who := "a document"
	if kind, name := t.root.get("kind"), t.root.get("name"); kind != nil && name != nil {
		who = spoken(kind.text) + " " + name.text
	}
	for i := range problems {
		problems[i].Message = who + ", made by " + t.maker + ": " + problems[i].Message
	}
	return problems
}

// spoken writes a kind as prose: RiskRules becomes risk rules.
func spoken(kind string) string {
	var b strings.Builder
	for i, r := range kind {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// document checks one tree and makes the typed document; nil when anything is
// wrong with it.
func (g *grammar) document(t tree) (any, diag.List) {
	var problems diag.List
	kind, ok := g.kind(t.root, &problems)
	if !ok {
		return nil, problems
	}
	problems = g.validate(kind, t.root)
	if problems.HasErrors() || t.broken {
		return nil, problems
	}
	doc, err := decode(kind, t.root.appendJSON(nil), t.root.source(t.maker))
	if err != nil {
		problems.Errorf(t.root.at, "wrong-value", "the document does not fit its type: %v", err)
		return nil, problems
	}
	check(doc, &problems)
	if problems.HasErrors() {
		return nil, problems
	}
	return doc, problems
}

// kind selects the definition before anything else is looked at, so that no
// message ever lists the mistakes against every kind.
func (g *grammar) kind(root *node, problems *diag.List) (string, bool) {
	if root.form == formBroken {
		return "", false
	}
	if root.form != formObject {
		problems.Errorf(root.at, "no-document", "a document is an object with kind, and this is %s", root.form)
		return "", false
	}
	n := root.get("kind")
	switch {
	case n == nil:
		d := problems.Errorf(root.at, "missing-key", "the document needs kind").Hinted("write kind: %s", diag.OneOf(g.kinds))
		for _, k := range root.keys {
			if diag.Closest(k.name, []string{"kind"}) != "" {
				d.At = k.at
				d.Hinted("did you mean kind instead of %s?", k.name)
			}
		}
	case n.form == formBroken:
	case slices.Contains(g.kinds, n.text) && n.form == formText:
		return n.text, true
	case slices.Contains(g.reserved, n.text):
		problems.Errorf(n.at, "reserved", "kind `%s` is not yet available", n.text)
	default:
		d := problems.Errorf(n.at, "unknown-kind", "kind is %s, want %s", show(n), diag.OneOf(g.kinds))
		if n.text == "Case" {
			d.Hinted("write kind: Test")
		} else {
			d.Hinted("%s", diag.DidYouMean(n.text, g.kinds))
		}
	}
	return "", false
}

func decode(kind string, text []byte, source *document.Source) (any, error) {
	switch kind {
	case "Tool":
		d := new(document.Tool)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "RiskRules":
		d := new(document.RiskRules)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "ApprovalPolicy":
		d := new(document.ApprovalPolicy)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "Grant":
		d := new(document.Grant)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "Connection":
		d := new(document.Connection)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "Secret":
		d := new(document.Secret)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	case "Test":
		d := new(document.Test)
		err := json.Unmarshal(text, d)
		d.Source = source
		return d, err
	}
	return nil, errors.New("no type for kind " + kind)
}
