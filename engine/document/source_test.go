package document_test

import (
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

func TestSource(t *testing.T) {
	at := func(file string, line, column int) diag.Position {
		return diag.Position{File: file, Line: line, Column: column}
	}
	start := at("a.cue", 1, 1)
	source := document.NewSource(start, "", map[string]document.Span{
		"/args":            {Key: at("a.cue", 2, 1), Value: at("a.cue", 2, 7)},
		"/args/repo":       {Key: at("b.cue", 9, 3), Value: at("a.cue", 3, 5)},
		"/args/repository": {Key: at("a.cue", 4, 1), Value: at("a.cue", 4, 2)},
		"/args/a~1b/0":     {Key: at("a.cue", 5, 1), Value: at("a.cue", 5, 1)},
	})
	for name, c := range map[string]struct{ got, want diag.Position }{
		"value":            {source.At("args", "repo"), at("a.cue", 3, 5)},
		"key of a file":    {source.Key("args", "repo"), at("b.cue", 9, 3)},
		"prefix":           {source.At("args", "repository"), at("a.cue", 4, 2)},
		"item":             {source.At("args", "a/b", 0), at("a.cue", 5, 1)},
		"ancestor":         {source.At("args", "repo", "under", 1), at("a.cue", 3, 5)},
		"ancestor of none": {source.At("risk"), start},
		"key of none":      {source.Key("args", "none"), at("a.cue", 2, 7)},
		"nothing known":    {(*document.Source)(nil).At("args"), diag.Position{}},
		"nothing written":  {document.NewSource(start, "", nil).At("args"), start},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}
