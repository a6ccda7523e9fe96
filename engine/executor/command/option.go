package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// option spells one argument: as a flag, or as the items that were chosen for
// its value. What is absent or false spells nothing.
type option struct {
	name    string
	flag    string
	joined  bool // the flag and its value are one item
	join    string
	choose  map[string][]string
	leading leading
}

// options compiles the options in the order in which the tool declares its
// arguments; with a pasted schema, which has no order, in that of names.
func (c *compiler) options() []item {
	var names []string
	for _, argument := range c.Tool.Args {
		if _, ok := c.block.Options[argument.Name]; ok {
			names = append(names, argument.Name)
		}
	}
	for _, name := range value.Keys(c.block.Options) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var items []item
	for _, name := range names {
		field, ok := c.Arguments.Fields[name]
		if !ok {
			c.mistakes.Errorf(c.Tool.Source.Key("command", "options", name), "unknown-argument", "there is no argument %q", name).
				Hinted("%s", diag.DidYouMean(name, value.Keys(c.Arguments.Fields)))
			continue
		}
		items = append(items, c.option(name, field.Type, c.block.Options[name]))
	}
	return items
}

func (c *compiler) option(name string, t value.Type, o document.Option) item {
	at := c.at("options", name)
	out := option{
		name: name, flag: o.Flag, join: o.Join, choose: o.Choose, leading: leading(c.Leading[name]),
		joined: strings.HasSuffix(o.Flag, "=") || strings.HasSuffix(o.Flag, ":"),
	}
	if (o.Flag == "") == (o.Choose == nil) {
		c.mistakes.Errorf(at, "option-form", "option %q needs exactly one of flag and choose", name)
		return out
	}
	if strings.Contains(o.Flag, "${") || hasNUL(o.Flag) {
		c.mistakes.Errorf(at, "option-form", "the flag of option %q is no plain text", name)
	}
	if o.Choose != nil {
		c.choose(name, t, o)
		return out
	}
	isList := t.Kind == value.List && t.Item != nil && scalar(*t.Item)
	isMap := t.Kind == value.Object && t.Fields == nil && t.Item != nil && scalar(*t.Item)
	switch {
	case !scalar(t) && !isList && !isMap:
		c.mistakes.Errorf(at, "option-type", "argument %q cannot be spelt as an option", name).
			Hinted("an option is a text, number or boolean, a list of them, or a map of them")
	case o.Join != "" && !isList && !isMap:
		c.mistakes.Errorf(at, "option-join", "join has no meaning for argument %q, which is %s", name, t.Kind)
	case t.Kind == value.Boolean && out.joined:
		c.mistakes.Errorf(at, "option-flag", "argument %q is true or false, so its flag takes no value", name).
			Hinted("write %s", strings.TrimRight(o.Flag, "=:"))
	}
	return out
}

func (c *compiler) choose(name string, t value.Type, o document.Option) {
	at := c.at("options", name, "choose")
	if o.Join != "" {
		c.mistakes.Errorf(at, "option-join", "join has no meaning beside choose")
	}
	if len(t.Enum) == 0 {
		c.mistakes.Errorf(at, "option-choose", "choose needs an enum, and argument %q has none", name)
		return
	}
	var values []string
	for _, v := range t.Enum {
		text, ok := value.Text(v)
		if !ok {
			c.mistakes.Errorf(at, "option-choose", "argument %q has a value that is neither text, number nor boolean", name)
			continue
		}
		values = append(values, text)
		if _, ok := o.Choose[text]; !ok {
			c.mistakes.Errorf(at, "option-choose", "choose does not say what becomes of %q", text)
		}
	}
	for _, key := range value.Keys(o.Choose) {
		here := c.Tool.Source.Key("command", "options", name, "choose", key)
		if !slices.Contains(values, key) {
			c.mistakes.Errorf(here, "option-choose", "argument %q is never %q", name, key).Hinted("%s", diag.DidYouMean(key, values))
		}
		for _, word := range o.Choose[key] {
			if strings.Contains(word, "${") || hasNUL(word) {
				c.mistakes.Errorf(here, "option-choose", "what is chosen is plain text, not a template")
			}
		}
	}
}

func (o option) render(lookup template.Lookup) ([]string, error) {
	v, present, err := lookup([]string{"args", o.name})
	if err != nil || !present || v == nil {
		return nil, err
	}
	if o.choose != nil {
		text, _ := value.Text(v)
		words, ok := o.choose[text]
		if !ok {
			return nil, fmt.Errorf("argument %q has a value that its option does not spell", o.name)
		}
		return words, nil
	}
	switch v := v.(type) {
	case bool:
		if !v {
			return nil, nil
		}
		return []string{o.flag}, nil
	case []any:
		texts := make([]string, len(v))
		for i, element := range v {
			text, ok := value.Text(element)
			if !ok {
				return nil, fmt.Errorf("argument %q holds what is no text", o.name)
			}
			texts[i] = text
		}
		return o.spell(texts)
	case map[string]any:
		pairs := make([]string, 0, len(v))
		for _, key := range value.Keys(v) {
			text, ok := value.Text(v[key])
			if !ok {
				return nil, fmt.Errorf("argument %q holds what is no text", o.name)
			}
			if key == "" || strings.Contains(key, "=") {
				return nil, fmt.Errorf("argument %q has a key that is empty or holds =", o.name)
			}
			pairs = append(pairs, key+"="+text)
		}
		return o.spell(pairs)
	}
	text, ok := value.Text(v)
	if !ok {
		return nil, fmt.Errorf("argument %q has no text", o.name)
	}
	return o.spell([]string{text})
}

// spell puts the flag before every text, or once before all of them joined.
func (o option) spell(texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if o.join != "" {
		for _, text := range texts {
			if strings.Contains(text, o.join) {
				return nil, fmt.Errorf("argument %q has an element that holds %q, which separates its elements", o.name, o.join)
			}
		}
		texts = []string{strings.Join(texts, o.join)}
	}
	var words []string
	for _, text := range texts {
		if o.joined {
			words = append(words, o.flag+text)
			continue
		}
		if err := o.leading.check(text); err != nil {
			return nil, err
		}
		words = append(words, o.flag, text)
	}
	return words, nil
}
