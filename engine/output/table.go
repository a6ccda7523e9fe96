package output

import (
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/value"
)

// cellWidth is the most characters of one cell that a table shows.
const cellWidth = 120

// table renders rows as columns in the order of the fields, under a heading.
// A single object is a table of one row.
func table(fields []field, v any) string {
	rows, isList := v.([]any)
	if !isList {
		rows = []any{v}
	}
	lines := make([][]string, 0, len(rows)+1)
	heading := make([]string, len(fields))
	for i, f := range fields {
		heading[i] = f.name
	}
	lines = append(lines, heading)
	for _, row := range rows {
		object, _ := row.(map[string]any)
		cells := make([]string, len(fields))
		for i, f := range fields {
			cells[i] = cell(object[f.name])
		}
		lines = append(lines, cells)
	}
	widths := make([]int, len(fields))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func cell(v any) string {
	if v == nil {
		return "-"
	}
	text, scalar := value.Text(v)
	if !scalar {
		text = string(value.JSON(v))
	}
	text = strings.Join(strings.Fields(clean(text)), " ")
	if utf8.RuneCountInString(text) <= cellWidth {
		return text
	}
	return string([]rune(text)[:cellWidth-1]) + "…"
}
