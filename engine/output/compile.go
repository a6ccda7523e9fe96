package output

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// fieldTypes are the words that a field's type may be.
func fieldTypes() []string {
	return []string{"string", "integer", "number", "boolean", "object", "array"}
}

// Compile reads the output block of a tool, which may be absent. Mistakes are
// keys that do not fit together, an unreadable path or type, bounds beyond the
// hard maximum, and fields that the tool's outputSchema rules out.
func Compile(tool *document.Tool) (*Shape, diag.List) {
	block := tool.Output
	if block == nil {
		block = &document.Output{}
	}
	c := compiler{tool: tool, block: block, shape: &Shape{
		as: block.As, mediaType: block.MediaType, maxRows: block.MaxRows,
		maxBytes: int(block.MaxBytes), table: block.Render == "table",
	}}
	c.bounds()
	c.keys()
	c.paths()
	c.shape.fitsSchema(tool, &c.mistakes)
	return c.shape, c.mistakes
}

type compiler struct {
	tool     *document.Tool
	block    *document.Output
	shape    *Shape
	mistakes diag.List
}

func (c *compiler) at(path ...any) diag.Position {
	return c.tool.Source.At(append([]any{"output"}, path...)...)
}

func (c *compiler) bounds() {
	switch size := c.block.MaxBytes; {
	case size == 0:
		c.shape.maxBytes = DefaultMaxBytes
	case size < 256 || size > MaxBytes:
		c.mistakes.Errorf(c.at("max_bytes"), "output-size", "max_bytes is %s; it is at least 256B and at most %s", size, document.Size(MaxBytes))
	}
	if c.block.MaxRows < 0 {
		c.mistakes.Errorf(c.at("max_rows"), "output-rows", "max_rows is negative")
	}
}

// keys checks that every key has a meaning beside the others.
func (c *compiler) keys() {
	b := c.block
	if !slices.Contains([]string{"", "text", "lines", "json", "image"}, b.As) {
		c.mistakes.Errorf(c.at("as"), "output-as", "output cannot be %q", b.As).Hinted("use text, lines, json or image")
	}
	if !slices.Contains([]string{"", "json", "table"}, b.Render) {
		c.mistakes.Errorf(c.at("render"), "output-render", "output cannot be rendered as %q", b.Render).Hinted("use json or table")
	}
	structured := b.As == "json" || b.As == "" && c.tool.Command == nil
	for key, present := range map[string]bool{"rows": b.Rows != "", "fields": b.Fields != nil, "render": b.Render != ""} {
		if present && !structured {
			c.mistakes.Errorf(c.at(key), "output-not-json", "%s needs output that is JSON", key).Hinted("add as: json")
		}
	}
	if b.MaxRows > 0 && !structured && b.As != "lines" {
		c.mistakes.Errorf(c.at("max_rows"), "output-not-json", "max_rows needs output that is JSON or lines").Hinted("add as: json or as: lines")
	}
	if b.Fields != nil && len(b.Fields) == 0 {
		c.mistakes.Errorf(c.at("fields"), "output-fields", "fields lists nothing")
	}
	if b.Render == "table" && len(b.Fields) == 0 {
		c.mistakes.Errorf(c.at("render"), "output-table", "a table needs fields, which are its columns")
	}
	if b.MediaType == "" {
		return
	}
	if b.As != "image" {
		c.mistakes.Errorf(c.at("media_type"), "output-media-type", "media_type has no meaning without as: image")
	} else if !slices.Contains(mediaTypes(), b.MediaType) {
		c.mistakes.Errorf(c.at("media_type"), "output-media-type", "pictures cannot be %q", b.MediaType).Hinted("%s", diag.OneOf(mediaTypes()))
	}
}

func (c *compiler) paths() {
	if c.block.Rows != "" {
		c.shape.hasRows = true
		steps, ok := parsePath(c.block.Rows)
		for i, step := range steps {
			if step.each && i == len(steps)-1 && step.name != "" {
				step.each = false // items[] names the same list as items
			}
			ok = ok && !step.each && step.name != ""
			c.shape.rows = append(c.shape.rows, step.name)
		}
		if !ok {
			c.mistakes.Errorf(c.at("rows"), "output-path", "%q is no path to a list", c.block.Rows).Hinted("write names joined by dots, such as data.items")
		}
	}
	for _, f := range c.block.Fields {
		path := f.Path
		if path == "" {
			path = f.Name
		}
		steps, ok := parsePath(path)
		if !ok {
			c.mistakes.Errorf(c.at("fields", f.Name, "path"), "output-path", "%q is no path", path).Hinted("write names joined by dots, and [] behind a list, such as labels[].name")
		}
		if f.Type != "" && !slices.Contains(fieldTypes(), f.Type) {
			hint := diag.DidYouMean(f.Type, fieldTypes())
			if hint == "" {
				hint = diag.OneOf(fieldTypes())
			}
			c.mistakes.Errorf(c.at("fields", f.Name, "type"), "output-type", "there is no type %q", f.Type).Hinted("%s", hint)
		}
		c.shape.fields = append(c.shape.fields, field{name: f.Name, path: steps, kind: f.Type, mask: f.Mask})
	}
}

// parsePath reads name.name[].name; a path may begin with [] when the row is
// itself a list.
func parsePath(path string) ([]step, bool) {
	var steps []step
	for i, part := range strings.Split(path, ".") {
		name, each := strings.CutSuffix(part, "[]")
		if strings.ContainsAny(name, "[]*$") || name == "" && (!each || i > 0) {
			return nil, false
		}
		steps = append(steps, step{name, each})
	}
	return steps, true
}
