package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
)

// grammar is what the *.cue files declare.
type grammar struct {
	definitions []*definition // in the order of the files and lines
	byName      map[string]*definition
	kinds       []string // definitions that are kinds of documents
	reservedFor map[string][]string
	reserved    []string // kinds of later versions
}

type definition struct {
	name string
	expr ast.Expr
	doc  string
	want string
	at   string // FILE:LINE
}

// read parses the grammar. What it does not understand is an error, so that
// nothing of it is lost on the way.
func read(files fs.FS) (*grammar, error) {
	g := &grammar{byName: map[string]*definition{}, reservedFor: map[string][]string{}}
	names, err := fs.Glob(files, "*.cue")
	if err != nil {
		return nil, fmt.Errorf("list the grammar: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the grammar: %w", err)
		}
		file, err := parser.ParseFile(name, text, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse the grammar: %w", err)
		}
		if err := g.file(file); err != nil {
			return nil, err
		}
	}
	for _, d := range g.definitions {
		if body, ok := d.expr.(*ast.StructLit); ok && kindOf(body) == d.name {
			g.kinds = append(g.kinds, d.name)
		}
	}
	slices.Sort(g.kinds)
	return g, nil
}

func (g *grammar) file(file *ast.File) error {
	for _, declaration := range file.Decls {
		field, ok := declaration.(*ast.Field)
		if !ok {
			continue
		}
		name, err := label(field)
		if err != nil {
			return err
		}
		if name == "reserved" {
			if err := g.readReserved(field.Value); err != nil {
				return err
			}
			continue
		}
		short, ok := strings.CutPrefix(name, "#")
		if !ok {
			return fmt.Errorf("%s: %s is no definition", place(field), name)
		}
		d := &definition{name: short, expr: field.Value, doc: doc(field), want: attribute(field, "want"), at: place(field)}
		g.definitions = append(g.definitions, d)
		g.byName[short] = d
	}
	return nil
}

func (g *grammar) readReserved(expr ast.Expr) error {
	body, ok := expr.(*ast.StructLit)
	if !ok {
		return fmt.Errorf("%s: reserved is a struct", place(expr))
	}
	for _, field := range fields(body) {
		name, err := label(field)
		if err != nil {
			return err
		}
		switch value := field.Value.(type) {
		case *ast.ListLit:
			g.reserved, err = texts(value)
		case *ast.StructLit:
			for _, list := range fields(value) {
				of, labelErr := label(list)
				literal, ok := list.Value.(*ast.ListLit)
				if labelErr != nil || !ok {
					return fmt.Errorf("%s: reserved.%s holds lists", place(list), name)
				}
				if g.reservedFor[of], err = texts(literal); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func texts(list *ast.ListLit) ([]string, error) {
	var out []string
	for _, item := range list.Elts {
		basic, ok := item.(*ast.BasicLit)
		if !ok {
			return nil, fmt.Errorf("%s: want text", place(item))
		}
		text, err := literal.Unquote(basic.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place(item), err)
		}
		out = append(out, text)
	}
	return out, nil
}

func fields(body *ast.StructLit) []*ast.Field {
	var out []*ast.Field
	for _, declaration := range body.Elts {
		if field, ok := declaration.(*ast.Field); ok {
			out = append(out, field)
		}
	}
	return out
}

// kindOf returns the text of the field kind, or "".
func kindOf(body *ast.StructLit) string {
	for _, field := range fields(body) {
		if name, err := label(field); err == nil && name == "kind" {
			if basic, ok := field.Value.(*ast.BasicLit); ok {
				text, _ := literal.Unquote(basic.Value)
				return text
			}
		}
	}
	return ""
}

func label(field *ast.Field) (string, error) {
	name, _, err := ast.LabelName(field.Label)
	if err != nil {
		return "", fmt.Errorf("%s: read the label: %w", place(field), err)
	}
	return name, nil
}

// doc is the comment before a field.
func doc(field *ast.Field) string {
	var lines []string
	for _, group := range ast.Comments(field) {
		if group.Doc {
			lines = append(lines, strings.TrimSpace(group.Text()))
		}
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}

// attribute returns the text of an attribute such as @want("…").
func attribute(field *ast.Field, name string) string {
	for _, attribute := range field.Attrs {
		key, body := attribute.Split()
		if key == name {
			text, err := literal.Unquote(body)
			if err != nil {
				return body
			}
			return text
		}
	}
	return ""
}

func place(node ast.Node) string {
	at := node.Pos().Position()
	return fmt.Sprintf("schema/%s:%d", at.Filename, at.Line)
}
