package condition

import (
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// TestFirm is where all() and none() may stand when an empty list must not
// make them hold.
func TestFirm(t *testing.T) {
	list := value.Type{Kind: value.List, Item: &value.Type{Kind: value.String}}
	sure := list
	sure.NonEmpty = true
	args := value.Struct(map[string]value.Field{
		"may": {Type: list}, "sure": {Type: sure}, "opt": {Type: sure, Optional: true},
	})
	env := value.Struct(map[string]value.Field{"args": {Type: args}})
	for source, fine := range map[string]bool{
		"all(args.sure, # == 'a')":                         true,
		"none(args.sure, # == 'a')":                        true,
		"any(args.may, # == 'a')":                          true,
		"all(['a', 'b'], # in args.may)":                   true,
		"all(args.may, # == 'a')":                          false,
		"none(args.may, # == 'a')":                         false,
		"all(filter(args.sure, # != 'b'), # == 'a')":       false,
		"all(args.opt ?? args.may, # == 'a')":              false,
		"all(args.opt ?? args.sure, # == 'a')":             true,
		"not (len(args.may) > 0) or all(args.may, #=='a')": false,
	} {
		e, problems := Parse(source, diag.Position{})
		if problems.HasErrors() {
			t.Fatalf("%s: %v", source, problems)
		}
		if _, problems := e.Bind(env); problems.HasErrors() {
			t.Errorf("%s: a rule may say so: %v", source, problems)
		}
		_, problems = e.Firm().Bind(env)
		if fine == problems.HasErrors() || !fine && problems[0].Code != "maybe-empty" {
			t.Errorf("%s: %v", source, problems)
		}
	}
}
