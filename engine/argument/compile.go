package argument

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// compiler turns one declaration into a Schema.
type compiler struct {
	linter
	paths   []Path
	leading map[string][]string
}

// short makes one object schema of the short form.
func (c *compiler) short(args document.Arguments) *written {
	properties := newWritten()
	for _, argument := range args {
		schema := c.read(argument.Schema, "args", argument.Name)
		if schema == nil {
			continue
		}
		if !slices.ContainsFunc([]string{"type", "enum", "const", "anyOf", "oneOf", "allOf"}, schema.has) {
			c.problems.Errorf(c.at(schema), "untyped", "argument %s does not say its type", argument.Name).
				Hinted("write type: %s", strings.Join(typeWords(), ", "))
		}
		c.schema(schema, true)
		properties.set(argument.Name, schema)
		c.name(argument.Name, schema)
	}
	top := newWritten()
	top.set("type", "object")
	top.set("properties", properties)
	top.set("required", requiredOf(properties))
	top.set("additionalProperties", false)
	c.names(properties)
	return top
}

// read reads one schema object with the places of everything in it.
func (c *compiler) read(raw []byte, at ...any) *written {
	r := reader{text: raw, ordered: true}
	v, err := r.read()
	if err != nil {
		c.problems.Errorf(c.source.At(at...), "schema-text", "the schema cannot be read: %v", err)
		return nil
	}
	schema, ok := v.(*written)
	if !ok {
		c.problems.Errorf(c.source.At(at...), "schema-text", "a schema is an object")
		return nil
	}
	place(schema, at)
	return schema
}

// verbatim reads, checks and inlines a whole JSON Schema.
func (c *compiler) verbatim(raw []byte, key string) *written {
	schema := c.read(raw, key)
	if schema == nil {
		return nil
	}
	if dialect := schema.text("$schema"); dialect != "" && strings.TrimSuffix(dialect, "#") != "https://json-schema.org/draft/2020-12/schema" {
		c.problems.Errorf(c.at(schema, "$schema"), "dialect", "%s follows %s", key, dialect).
			Hinted("write JSON Schema 2020-12, and leave $schema out")
	}
	if schema.text("type") != "object" {
		c.problems.Errorf(c.at(schema, "type"), "not-an-object", "%s must say type: object, alone", key)
	}
	c.schema(schema, false)
	if c.problems.HasErrors() {
		return nil
	}
	in := inliner{linter: &c.linter, root: schema}
	return in.schema(schema)
}

// top checks what holds for the top of inputSchema only: arguments are
// declared one by one, under properties.
func (c *compiler) top(w *written) {
	if w.has("patternProperties") {
		c.problems.Errorf(c.key(w, "patternProperties"), "open-arguments", "patternProperties cannot stand at the top, where each argument is declared by name")
	}
	if w.has("additionalProperties") && w.values["additionalProperties"] != false {
		c.problems.Errorf(c.key(w, "additionalProperties"), "open-arguments", "a tool takes no arguments that it does not declare").
			Hinted("write additionalProperties: false, and a property of type object for a map")
	}
	w.set("additionalProperties", false)
	properties := w.object("properties")
	if properties == nil {
		properties = newWritten()
		properties.at = join(w.at, "properties")
		w.set("properties", properties)
	}
	for _, name := range properties.keys {
		c.name(name, w)
	}
	c.names(properties)
	c.mentioned(w, properties.keys)
	for _, name := range w.names("required") {
		if !properties.has(name) {
			c.problems.Errorf(c.at(w, "required"), "undeclared", "required names %q, which is not under properties", name).
				Hinted("%s", diag.DidYouMean(name, properties.keys))
		}
	}
}

// mentioned finds arguments that only a combinator knows of: no call could
// ever give them.
func (c *compiler) mentioned(w *written, known []string) {
	for _, word := range combinators() {
		eachSchema(c.words[word].form, w.values[word], func(v any) any {
			if branch, ok := v.(*written); ok {
				if properties := branch.object("properties"); properties != nil {
					for _, name := range properties.keys {
						if !slices.Contains(known, name) {
							c.problems.Errorf(c.key(properties, name), "undeclared", "%s has %q, which is not under properties at the top", word, name).
								Hinted("%s", diag.DidYouMean(name, known))
						}
					}
				}
				c.mentioned(branch, known)
			}
			return v
		})
	}
}

// name checks the name of an argument, which clients restrict.
func (c *compiler) name(name string, w *written) {
	odd := strings.IndexFunc(name, func(r rune) bool {
		return r > 0x7f || !alphanumeric(byte(r)) && r != '_' && r != '.' && r != '-'
	})
	if name == "" || len(name) > 64 || odd >= 0 || name[0] >= '0' && name[0] <= '9' || name[0] == '.' || name[0] == '-' {
		c.problems.Errorf(c.at(w), "argument-name", "%q is no name for an argument", name).
			Hinted("use letters, digits, _ . and -, at most 64, and begin with a letter or _")
	}
}

func (c *compiler) names(properties *written) {
	for i, name := range properties.keys {
		for _, other := range properties.keys[:i] {
			if strings.EqualFold(name, other) {
				c.problems.Errorf(c.key(properties, name), "argument-name", "arguments %s and %s differ by case only", other, name)
			}
		}
	}
}

// compile makes the Schema of a plain schema without references.
func (c *compiler) compile(w *written) *Schema {
	c.leading = map[string][]string{}
	c.walk(w, use{pointer: ""})
	root := build(w, c.words)
	if root.needsFull() {
		full, err := compileFull(w, c.words)
		if err != nil {
			c.problems.Errorf(c.at(w), "schema-text", "the schema cannot be compiled: %v", err)
			return nil
		}
		root.attach(full)
	}
	c.defaults(root, w)
	return &Schema{
		root: root, kind: root.typeOfValue(), paths: c.paths, leading: c.leading,
		projection: project(w, c.words),
	}
}

// use says where in the arguments a schema is used.
type use struct {
	pointer  string
	argument string // the argument, while the schema is of it or its items
	property bool   // of an object: a default has where to go
	branch   string // the combinator that it stands in, or ""
	unnamed  bool   // below a property whose name means something else in a pointer
}

// walk collects what Writ's own words say, and refuses them, and defaults,
// where they could have no effect.
func (c *compiler) walk(w *written, u use) {
	if w.has("optional") {
		c.problems.Errorf(c.key(w, "optional"), "no-effect", "optional belongs to an argument or a property")
	}
	if w.has("default") && (!u.property || u.branch != "") {
		c.problems.Errorf(c.key(w, "default"), "no-effect", "a default in %s is never filled in", u.place()).
			Hinted("put it beside the type of the argument or property")
	}
	c.path(w, u)
	if characters := w.names("allow_leading"); len(characters) > 0 {
		if u.argument == "" || u.branch != "" {
			c.problems.Errorf(c.key(w, "allow_leading"), "no-effect", "allow_leading belongs to an argument or its items, not to %s", u.place())
		}
		c.leading[u.argument] = append(c.leading[u.argument], characters...)
	}
	for _, key := range w.keys {
		c.walkInto(w, key, u)
	}
}

func (c *compiler) walkInto(w *written, key string, u use) {
	next := u
	next.property = false
	word := c.words[key]
	switch {
	case key == "properties":
		properties := w.object(key)
		for _, name := range properties.keys {
			if property := properties.object(name); property != nil {
				next.pointer, next.property, next.argument = u.pointer+"/"+escapePointer(name), true, ""
				if u.pointer == "" {
					next.argument = name
				}
				next.unnamed = u.unnamed || slices.Contains([]string{"", "*", ".", ".."}, name)
				c.walk(property, next)
			}
		}
		return
	case key == "items":
		next.pointer += "/*"
	case key == "additionalProperties":
		next.pointer += "/*"
		next.argument = ""
		if w.has("properties") {
			next.branch = key
		}
	case word.slow:
		next.branch = key
	}
	eachSchema(word.form, w.values[key], func(v any) any {
		if item, ok := v.(*written); ok {
			c.walk(item, next)
		}
		return v
	})
}

func (u use) place() string {
	if u.branch != "" {
		return u.branch
	}
	return "items or additionalProperties"
}

// path notes a path argument.
func (c *compiler) path(w *written, u use) {
	switch {
	case w.text("format") != "path" && !w.has("under") && !w.has("must"):
		return
	case u.branch != "":
		c.problems.Errorf(c.at(w, "format"), "hidden-path", "a path in %s cannot be told from other text", u.branch).
			Hinted("declare it plainly, as an argument, property or item")
		return
	case u.unnamed:
		c.problems.Errorf(c.at(w, "format"), "hidden-path", "a path cannot lie below a property of this name")
		return
	case typeSetOf(w.types())&^isNull != isString:
		c.problems.Errorf(c.at(w, "format"), "path-type", "a path is a string, and this may also be something that no root is asked about").
			Hinted("write type: string beside format: path")
		return
	}
	c.paths = append(c.paths, Path{Pointer: u.pointer, Under: w.names("under"), Must: w.text("must")})
}

// defaults makes every default canonical and checks it. Inner defaults come
// first, so that outer ones are completed by them.
func (c *compiler) defaults(n *node, w *written) {
	if n == nil || w == nil {
		return
	}
	c.defaults(n.items, w.object("items"))
	c.defaults(n.additional, w.object("additionalProperties"))
	properties := w.object("properties")
	for i := range n.properties {
		p := &n.properties[i]
		schema := properties.object(p.name)
		c.defaults(p.node, schema)
		if schema == nil || !schema.has("default") {
			continue
		}
		check := checker{}
		v := check.value(p.node, plain(schema.values["default"]))
		if err := check.err(); err != nil {
			c.problems.Errorf(c.at(schema, "default"), "invalid-default", "the default would be rejected: %v", err)
			continue
		}
		p.filled, p.fill = true, v
	}
}
