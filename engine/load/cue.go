package load

import (
	"context"
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// made is what came of a CUE file.
type made struct {
	trees    []tree
	problems diag.List
}

// readCUE evaluates a CUE file: one document, or a list of them under
// documents. It reports whether the answer must not be kept, because the time
// or the memory ran out.
func readCUE(ctx context.Context, o Options, file string, text []byte, problems *diag.List) ([]tree, bool) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	evaluate := evaluateHere
	if len(o.Evaluator) > 0 {
		evaluate = func(ctx context.Context, file string, text []byte) (made, error) {
			return evaluateThere(ctx, o, file, text)
		}
	}
	m, err := evaluate(ctx, file, text)
	if err == nil {
		*problems = append(*problems, m.problems...)
		return m.trees, false
	}
	at := diag.Position{File: file}
	switch {
	case errors.Is(err, errMemory):
		problems.Errorf(at, "too-large", "evaluating the file takes more than %s of memory", document.Size(o.Memory)).
			Hinted("make less of it with comprehensions")
	case ctx.Err() != nil:
		problems.Errorf(at, "too-slow", "evaluating the file takes more than %s", o.Limit).
			Hinted("make less of it with comprehensions")
	default:
		problems.Errorf(at, "cue", "the file cannot be evaluated: %v", err)
	}
	return nil, true
}

// evaluateHere evaluates in this process. CUE cannot be stopped, so that what
// takes too long goes on to its end with nobody listening.
func evaluateHere(ctx context.Context, file string, text []byte) (made, error) {
	done := make(chan made, 1)
	go func() { done <- evaluate(ctx, file, text) }()
	select {
	case m := <-done:
		return m, nil
	case <-ctx.Done():
		return made{}, ctx.Err()
	}
}

// evaluate gives every file a context of its own, because a context never
// forgets what it built.
func evaluate(ctx context.Context, file string, text []byte) (m made) {
	e := &evaluation{ctx: ctx, file: file}
	defer func() {
		if fault := recover(); fault != nil {
			m = made{}
			m.problems.Errorf(diag.Position{File: file}, "cue", "CUE cannot evaluate the file: %v", fault)
		}
	}()
	trees := e.run(text)
	return made{trees, e.problems}
}

// evaluation turns one CUE file into trees.
type evaluation struct {
	ctx      context.Context
	file     string
	size     size
	problems diag.List
}

func (e *evaluation) run(text []byte) []tree {
	if !plainText(e.file, text, &e.problems) {
		return nil
	}
	parsed, err := parser.ParseFile(e.file, text)
	if err != nil {
		e.refuse(err)
		return nil
	}
	if !e.imports(parsed) {
		return nil
	}
	root := cuecontext.New().BuildFile(parsed, cue.Filename(e.file))
	if err := root.Err(); err != nil {
		e.refuse(err)
		return nil
	}
	list := root.LookupPath(cue.ParsePath("documents"))
	if !list.Exists() {
		return e.one(root, "")
	}
	return e.list(root, list)
}

// imports accepts the standard library alone.
func (e *evaluation) imports(file *ast.File) bool {
	ok := true
	for spec := range file.ImportSpecs() {
		path, err := literal.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") || first == "tool" || strings.Contains(path, ":") {
			e.problems.Errorf(e.at(spec.Pos()), "cue-import", "%s cannot be imported: documents may use the standard library of CUE alone", path)
			ok = false
		}
	}
	return ok
}

func (e *evaluation) list(root, list cue.Value) []tree {
	fields, err := root.Fields()
	if err != nil {
		e.refuse(err)
		return nil
	}
	for fields.Next() {
		if name := fields.Selector().Unquoted(); name != "documents" {
			e.problems.Errorf(e.at(fields.Value().Pos()), "unknown-key", "%s stands beside documents", name).
				Hinted("make it hidden, as _%s, or a definition, as #%s", name, name)
		}
	}
	items, err := list.List()
	if err != nil {
		e.refuse(err)
		return nil
	}
	var trees []tree
	for items.Next() {
		trees = append(trees, e.one(items.Value(), e.at(items.Value().Pos()).String())...)
	}
	return trees
}

// one converts a document.
func (e *evaluation) one(v cue.Value, maker string) []tree {
	before := len(e.problems)
	t := tree{root: e.node(v, 0, ""), maker: maker}
	t.broken = len(e.problems) > before
	if made := e.problems[before:]; maker != "" {
		named(t, made)
	}
	return []tree{t}
}

// node converts a concrete value.
func (e *evaluation) node(v cue.Value, depth int, name string) *node {
	out := &node{at: e.at(v.Pos()), form: formBroken}
	if !e.size.fits(depth) || e.ctx.Err() != nil {
		if !e.size.told {
			tooLarge(out.at, &e.problems)
		}
		e.size.told = true
		return out
	}
	v, _ = v.Default()
	if err := v.Err(); err != nil {
		e.refuse(err)
		return out
	}
	if depth == 1 && name == "inputSchema" && isType(v) {
		return e.exported(v, out.at)
	}
	switch v.Kind() {
	case cue.StructKind:
		e.object(v, out, depth)
	case cue.ListKind:
		items, err := v.List()
		if err != nil {
			e.refuse(err)
			return out
		}
		out.form = formList
		for items.Next() {
			out.items = append(out.items, e.node(items.Value(), depth+1, ""))
		}
	default:
		e.scalar(v, out, name)
	}
	return out
}

func (e *evaluation) object(v cue.Value, out *node, depth int) {
	fields, err := v.Fields()
	if err != nil {
		e.refuse(err)
		return
	}
	out.form = formObject
	for fields.Next() {
		name := fields.Selector().Unquoted()
		value := fields.Value()
		out.keys = append(out.keys, key{name, e.label(value)})
		out.items = append(out.items, e.node(value, depth+1, name))
	}
	missing, err := v.Fields(cue.Optional(true))
	if err != nil {
		return
	}
	for missing.Next() {
		if missing.FieldType() == cue.RequiredConstraint {
			e.problems.Errorf(out.at, "cue-incomplete", "%s is required and has no value", missing.Selector().Unquoted())
		}
	}
}

// label is the place of the key of a field, as far as CUE tells.
func (e *evaluation) label(v cue.Value) diag.Position {
	if field, ok := v.Source().(*ast.Field); ok {
		return e.at(field.Label.Pos())
	}
	return e.at(v.Pos())
}

func (e *evaluation) scalar(v cue.Value, out *node, name string) {
	switch v.Kind() {
	case cue.NullKind:
		out.form = formNull
		return
	case cue.BoolKind:
		yes, _ := v.Bool()
		out.form, out.text = formBool, fmt.Sprint(yes)
		return
	case cue.StringKind:
		out.form = formText
		out.text, _ = v.String()
		if e.size.bytes += len(out.text); e.size.bytes > MaxMade {
			e.problems.Errorf(out.at, "too-large", "the texts of the file are larger than %s", document.Size(MaxMade))
			out.form, out.text = formBroken, ""
		}
		return
	case cue.IntKind, cue.FloatKind, cue.NumberKind:
		if text, err := v.MarshalJSON(); err == nil && reasonable(string(text)) == nil {
			out.form, out.text = formNumber, string(text)
			return
		}
		e.problems.Errorf(out.at, "number", "the number is too long, or its exponent is beyond 400")
		return
	case cue.BytesKind:
		e.problems.Errorf(out.at, "wrong-value", "bytes are no value of a document").Hinted("write a string")
		return
	}
	e.problems.Errorf(out.at, "cue-incomplete", "%s has no value yet, only the type %v", name, v.IncompleteKind()).
		Hinted("give it a value")
}

func (e *evaluation) at(pos token.Pos) diag.Position {
	if !pos.IsValid() || pos.Filename() != e.file {
		return diag.Position{File: e.file}
	}
	return diag.Position{File: e.file, Line: pos.Line(), Column: pos.Column()}
}

// refuse reports what CUE found, each mistake once, at the first place in the
// file that it names.
func (e *evaluation) refuse(err error) {
	for _, mistake := range errors.Errors(err) {
		format, args := mistake.Msg()
		at, first := diag.Position{File: e.file}, true
		var others []diag.Position
		for _, pos := range errors.Positions(mistake) {
			if pos.IsValid() && pos.Filename() == e.file {
				if first {
					at, first = e.at(pos), false
				} else {
					others = append(others, e.at(pos))
				}
			}
		}
		message := fmt.Sprintf(format, args...)
		if path := mistake.Path(); len(path) > 0 {
			message = strings.Join(path, ".") + ": " + message
		}
		d := e.problems.Errorf(at, "cue", "%s", message)
		for _, other := range others {
			d.Also(other, "against this")
		}
	}
}
