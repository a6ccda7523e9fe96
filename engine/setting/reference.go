package setting

import (
	"fmt"
	"strings"
)

// Reference is the page docs/reference/settings.md, made of the table.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from engine/setting/table.go. Do not edit. -->

Each setting has its value from the strongest place that gives one: a flag, else a variable of the environment, else
` + "`writ.yaml`" + `, else the default. Unknown keys and unknown ` + "`WRIT_`" + ` variables are errors. Lists and maps stand in ` + "`writ.yaml`" + ` only.

| key | type | default | bounds | variable | flag | |
|---|---|---|---|---|---|---|
`)
	for _, e := range Table() {
		key := code(e.Key)
		if e.Elsewhere {
			key += " (not in writ.yaml)"
		}
		flag := e.Flag()
		if flag != "" {
			flag = "--" + flag
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", key, e.Type(), code(e.Default), e.bounds(), code(e.Variable()), code(flag), e.Doc)
	}
	b.WriteString(`
Two more variables are no settings: ` + "`" + ConfigVariable + "`" + ` names the configuration folder, and ` + "`" + TokenVariable + "`" + ` is the token of the
caller ` + "`" + DefaultCaller + "`" + ` (32 to 256 printable ASCII characters without spaces).

Reserved keys, not yet available: ` + code(strings.Join(Reserved(), "`, `")) + `.
`)
	return b.String()
}

func (e Entry) bounds() string {
	switch {
	case e.form == formSize:
		return Size(e.Min) + " to " + Size(e.Max)
	case e.form == formInteger && e.Min == e.Max:
		return fmt.Sprint(e.Min)
	case e.form == formInteger:
		return fmt.Sprintf("%d to %d", e.Min, e.Max)
	}
	return ""
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
