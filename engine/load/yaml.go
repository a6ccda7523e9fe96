package load

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/engine/diag"
)

// yamlReader turns a YAML stream into trees. It accepts the part of YAML that
// means the same to every reader: no tags, anchors, aliases or merges, no
// numbers of other bases, no key twice.
type yamlReader struct {
	file     string
	lines    []string
	size     size
	problems *diag.List
}

func readYAML(file string, text []byte, problems *diag.List) []tree {
	r := &yamlReader{file: file, problems: problems}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !plainText(file, text, problems) {
		return nil
	}
	r.lines = strings.Split(string(text), "\n")
	var trees []tree
	start := 0
	for i := 1; i <= len(r.lines); i++ {
		if i == len(r.lines) || separates(r.lines[i]) {
			trees = append(trees, r.stream(start, i)...)
			start = i
		}
	}
	return trees
}

// separates reports whether a line begins a document. YAML allows it nowhere
// else, not even inside quotes, so that documents can be told apart before
// they are parsed and a mistake in one does not hide the next.
func separates(line string) bool {
	return strings.HasPrefix(line, "---") && (len(line) == 3 || strings.ContainsRune(" \t\r", rune(line[3])))
}

// plainText refuses bytes that are no text and controls that nobody sees.
func plainText(file string, text []byte, problems *diag.List) bool {
	line, column := 1, 1
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRune(text[i:])
		at := diag.Position{File: file, Line: line, Column: column}
		if r == utf8.RuneError && width == 1 {
			problems.Errorf(at, "not-text", "the file is not UTF-8").Hinted("save it as UTF-8")
			return false
		}
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			problems.Errorf(at, "not-text", "there is a control character (U+%04X) here", r)
			return false
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		i += width
	}
	return true
}

// stream parses lines [start, end), which hold one document as a rule.
func (r *yamlReader) stream(start, end int) []tree {
	decoder := yaml.NewDecoder(strings.NewReader(strings.Join(r.lines[start:end], "\n")))
	var trees []tree
	for {
		var parsed yaml.Node
		err := decoder.Decode(&parsed)
		if errors.Is(err, io.EOF) {
			return trees
		}
		if err != nil {
			r.syntax(err, start, end)
			return trees
		}
		if len(parsed.Content) != 1 || parsed.Content[0].ShortTag() == "!!null" && parsed.Content[0].Value == "" {
			continue // a comment, or nothing
		}
		before := len(*r.problems)
		root := r.node(parsed.Content[0], start, 0, "")
		trees = append(trees, tree{root: root, broken: len(*r.problems) > before})
	}
}

// node converts a YAML node. Name is the key above it. What is refused becomes
// a broken node, so that the rest can be checked too.
func (r *yamlReader) node(n *yaml.Node, offset, depth int, name string) *node {
	at := diag.Position{File: r.file, Line: n.Line + offset, Column: n.Column}
	out := &node{at: at, form: formBroken}
	if !r.size.fits(depth) {
		if !r.size.told {
			tooLarge(at, r.problems)
		}
		r.size.told = true
		return out
	}
	if !r.bare(n, at, name) {
		return out
	}
	switch n.Kind {
	case yaml.ScalarNode:
		r.scalar(n, out, name)
	case yaml.SequenceNode:
		out.form = formList
		for _, item := range n.Content {
			out.items = append(out.items, r.node(item, offset, depth+1, name))
		}
	case yaml.MappingNode:
		r.mapping(n, out, offset, depth)
	}
	return out
}

// bare refuses what makes a node mean something else than it says.
func (r *yamlReader) bare(n *yaml.Node, at diag.Position, name string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.problems.Errorf(at, "yaml-alias", "*%s is an alias, which documents do not use", n.Value).
			Hinted("%s", r.quote(at, name))
	case n.Anchor != "":
		r.problems.Errorf(at, "yaml-anchor", "&%s is an anchor, which documents do not use", n.Anchor).
			Hinted("%s", r.quote(at, name))
	case n.Style&yaml.TaggedStyle != 0:
		r.problems.Errorf(at, "yaml-tag", "a tag begins with ! here, and documents do not use tags").
			Hinted("%s", r.quote(at, name))
	default:
		return true
	}
	return false
}

// quote is the hint for text that YAML takes for something else.
func (r *yamlReader) quote(at diag.Position, name string) string {
	if name != "when" || len(r.lines[at.Line-1]) > 1000 {
		return "quote the text"
	}
	line := []rune(strings.TrimRight(r.lines[at.Line-1], "\r"))
	rest := strings.TrimSpace(string(line[min(at.Column-1, len(line)):]))
	if rest == "" || len(rest) > 80 {
		return "quote the text"
	}
	return "quote this expression: " + doubleQuoted(rest)
}

func doubleQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func (r *yamlReader) mapping(n *yaml.Node, out *node, offset, depth int) {
	out.form = formObject
	seen := map[string]diag.Position{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		written := n.Content[i]
		at := diag.Position{File: r.file, Line: written.Line + offset, Column: written.Column}
		name, ok := r.key(written, at)
		if first, twice := seen[name]; ok && twice {
			r.problems.Errorf(at, "duplicate-key", "key %q is written twice", name).Also(first, "the first one")
			ok = false
		}
		below := r.node(n.Content[i+1], offset, depth+1, name)
		if !ok {
			continue
		}
		seen[name] = at
		out.keys = append(out.keys, key{name, at})
		out.items = append(out.items, below)
	}
}

// key reads the key of a mapping, which is text.
func (r *yamlReader) key(n *yaml.Node, at diag.Position) (string, bool) {
	if !r.bare(n, at, "") {
		return "", false
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		r.problems.Errorf(at, "yaml-key", "a key is text, and this is %s", map[yaml.Kind]string{yaml.MappingNode: "an object", yaml.SequenceNode: "a list"}[n.Kind]).
			Hinted("quote it: braces and brackets have a meaning in YAML")
		return "", false
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return n.Value, true
	case n.Value == "<<":
		r.problems.Errorf(at, "yaml-merge", "<< merges, which documents do not use").Hinted("write the keys out")
		return "", false
	}
	if form, _, err := plain(n.Value); err != nil || form != formText {
		r.problems.Errorf(at, "yaml-key", "a key is text, and %s is %s", n.Value, describe(form, err)).Hinted("quote it: %s", doubleQuoted(n.Value))
		return "", false
	}
	return n.Value, true
}

func describe(f form, err error) string {
	if err != nil {
		return "a number"
	}
	return f.String()
}

func (r *yamlReader) scalar(n *yaml.Node, out *node, name string) {
	out.text = n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		out.form = formText
		return
	}
	form, text, err := plain(n.Value)
	if err != nil {
		r.problems.Errorf(out.at, "yaml-number", "%s", err).Hinted("quote it if it is text: %s", doubleQuoted(n.Value))
		return
	}
	out.form, out.text = form, text
	if name == "when" && form == formText && n.LineComment != "" && unbalanced(n.Value) {
		r.problems.Errorf(out.at, "yaml-comment", "the expression ends before #, which begins a comment").
			Hinted("quote this expression: %s", doubleQuoted(n.Value+" "+n.LineComment))
	}
}

// unbalanced reports an expression that ends inside quotes or brackets.
func unbalanced(text string) bool {
	var quote rune
	depth := 0
	for _, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		}
	}
	return quote != 0 || depth != 0
}
