package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

const optionsSlot = "${options}"

// item renders to any number of arguments.
type item interface {
	render(template.Lookup) ([]string, error)
}

// word is one argument, or as many as the list has that it stands for.
type word struct {
	text    *template.Template
	leading leading
}

func (w word) render(lookup template.Lookup) ([]string, error) {
	if literal, ok := w.text.Literal(); ok {
		return []string{literal}, nil
	}
	v, present, err := w.text.Value(lookup)
	if err != nil {
		return nil, err
	}
	if !present {
		return nil, &template.AbsentError{Slot: strings.Join(w.text.Slots()[0], ".")}
	}
	values, isList := v.([]any)
	if !isList {
		values = []any{v}
	}
	words := make([]string, len(values))
	for i, v := range values {
		text, ok := value.Text(v)
		if !ok {
			return nil, fmt.Errorf("render %s: it holds a list or an object, which is no argument", w.text.Source())
		}
		if _, begins := w.text.LeadingSlot(); begins {
			if err := w.leading.check(text); err != nil {
				return nil, err
			}
		}
		words[i] = text
	}
	return words, nil
}

// argv compiles the list. The first item is the program, a literal.
func (c *compiler) argv() {
	if len(c.block.Argv) == 0 {
		c.mistakes.Errorf(c.at("argv"), "argv-empty", "argv is empty").Hinted("write the program and its arguments: [git, status]")
		return
	}
	placed := 0
	for i, text := range c.block.Argv {
		switch {
		case i == 0:
			c.argv0(text)
		case text == optionsSlot:
			placed++
			c.out.argv = append(c.out.argv, c.options()...)
		case strings.Contains(text, optionsSlot):
			c.mistakes.Errorf(c.at("argv", i), "options-slot", "${options} stands for whole arguments and cannot be part of one").
				Hinted("give it an item of its own")
		default:
			if w := c.word(text, i); w != nil {
				c.out.argv = append(c.out.argv, *w)
			}
		}
	}
	switch {
	case placed == 0 && len(c.block.Options) > 0:
		c.mistakes.Errorf(c.at("options"), "options-slot", "options are declared, but argv does not say where they go").
			Hinted(`add an item "${options}" to argv`)
	case placed > 0 && len(c.block.Options) == 0:
		c.mistakes.Errorf(c.at("argv"), "options-slot", "argv places ${options}, but no options are declared")
	case placed > 1:
		c.mistakes.Errorf(c.at("argv"), "options-slot", "${options} stands in argv %d times", placed)
	}
}

func (c *compiler) argv0(text string) {
	parsed, mistakes := template.Parse(text, c.at("argv", 0))
	c.mistakes = append(c.mistakes, mistakes...)
	if parsed == nil {
		return
	}
	literal, ok := parsed.Literal()
	switch {
	case !ok:
		c.mistakes.Errorf(c.at("argv", 0), "program-slot", "the program cannot come from a slot").
			Hinted("write its name, or declare one tool for each program")
	case literal == "" || hasNUL(literal):
		c.mistakes.Errorf(c.at("argv", 0), "program", "the program has no name")
	}
	c.out.argv = append(c.out.argv, word{text: parsed})
}

func (c *compiler) word(text string, i int) *word {
	parsed := c.parse(text, template.Item, false, "argv", i)
	if parsed == nil {
		return nil
	}
	if literal, ok := parsed.Literal(); ok && hasNUL(literal) {
		c.mistakes.Errorf(c.at("argv", i), "argv-nul", "an argument cannot hold a NUL byte")
		return nil
	}
	if parts := parsed.Parts(); len(parts) > 1 && (parts[0].Literal == "-" || parts[0].Literal == "--") {
		if t, _, _ := c.roots().Lookup(parts[1].Path); t.Kind != value.Integer && len(t.Enum) == 0 {
			c.mistakes.Errorf(c.at("argv", i), "option-slot", "${%s} would decide which option this is", parts[1].Name()).
				Hinted("write the option out, or list the values that the argument may have in enum")
			return nil
		}
	}
	if slot, whole := parsed.Whole(); whole {
		t, _, _ := c.roots().Lookup(slot)
		if problem := notWords(t); problem != "" {
			c.mistakes.Errorf(c.at("argv", i), "argv-type", "${%s} is %s", strings.Join(slot, "."), problem).
				Hinted("give it a type of text, number, boolean or a list of them; options spell maps")
			return nil
		}
	}
	return &word{text: parsed, leading: c.leadingOf(parsed.Slots()...)}
}

// notWords says why a type cannot become arguments, or "".
func notWords(t value.Type) string {
	switch t.Kind {
	case value.Object:
		return "an object, which is no argument"
	case value.Any:
		return "of no known type"
	case value.List:
		if t.Item == nil || !scalar(*t.Item) {
			return "a list of something that is no argument"
		}
	}
	return ""
}

func scalar(t value.Type) bool {
	return t.Kind == value.Boolean || t.Kind == value.Integer || t.Kind == value.Number || t.Kind == value.String
}

// render makes the whole list of arguments, within bounds.
func (c *command) render(lookup template.Lookup) ([]string, error) {
	argv := make([]string, 0, len(c.argv))
	for _, item := range c.argv {
		words, err := item.render(lookup)
		if err != nil {
			return nil, err
		}
		argv = append(argv, words...)
	}
	for _, word := range argv {
		switch {
		case hasNUL(word):
			return nil, errors.New("an argument holds a NUL character, which no program can be given")
		case len(word) > MaxItemBytes:
			return nil, fmt.Errorf("an argument has %d bytes; at most %d are possible", len(word), MaxItemBytes)
		}
	}
	return argv, nil
}
