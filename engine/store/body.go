package store

import (
	"encoding/json"
	"strconv"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/value"
)

// body is what a row holds beside its columns: the fields of the record that
// nobody asks for by value, as JSON under their own names in sorted order,
// because it becomes part of what is chained. It is written by hand because every call pays for it; decode reads it with encoding/json, and
// a test fills every field of a record to see that none is lost.
func body(r *audit.Record) string {
	b := object{make([]byte, 0, 512)}
	b.text("approval", r.Approval)
	b.text("argument_digest", r.ArgumentDigest)
	b.text("code", r.Code)
	b.text("confirmation", r.Confirmation)
	b.number("count", r.Count)
	b.text("decision", r.Decision)
	b.number("duration_ms", r.DurationMS)
	b.text("effect_digest", r.EffectDigest)
	b.text("entry", string(r.Entry))
	b.number("generation", int64(r.Generation))
	b.text("grant", r.Grant)
	b.text("risk", r.Risk.String())
	b.texts("rules", r.Rules)
	b.number("rules_fired", int64(r.RulesFired))
	b.text("session", r.Session)
	b.text("settled_by", r.SettledBy)
	if r.Stages != (audit.Stages{}) {
		b.key("stages")
		stages := object{b.out}
		stages.out = append(stages.out, '{')
		stages.number("approve_us", r.Stages.Approve)
		stages.number("assess_us", r.Stages.Assess)
		stages.number("execute_us", r.Stages.Execute)
		stages.number("prepare_us", r.Stages.Prepare)
		b.out = append(stages.out, '}')
	}
	b.text("status", string(r.Status))
	b.text("tool_digest", r.ToolDigest)
	b.number("uid", int64(r.UID))
	return string(b.end())
}

func decode(text string, r *audit.Record) error { return json.Unmarshal([]byte(text), r) }

// object is a JSON object that is being written. Empty and zero fields are
// left out.
type object struct{ out []byte }

func (o *object) key(name string) {
	switch {
	case len(o.out) == 0:
		o.out = append(o.out, '{')
	case o.out[len(o.out)-1] != '{':
		o.out = append(o.out, ',')
	}
	o.out = append(o.out, '"')
	o.out = append(o.out, name...)
	o.out = append(o.out, '"', ':')
}

func (o *object) text(name, text string) {
	if text != "" {
		o.key(name)
		o.quote(text)
	}
}

func (o *object) number(name string, n int64) {
	if n != 0 {
		o.key(name)
		o.out = strconv.AppendInt(o.out, n, 10)
	}
}

func (o *object) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	o.key(name)
	for i, text := range list {
		o.out = append(o.out, "[,"[min(i, 1)])
		o.quote(text)
	}
	o.out = append(o.out, ']')
}

// quote is quick for the usual words.
func (o *object) quote(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			o.out = value.AppendJSON(o.out, text)
			return
		}
	}
	o.out = append(o.out, '"')
	o.out = append(o.out, text...)
	o.out = append(o.out, '"')
}

func (o *object) end() []byte {
	if len(o.out) == 0 {
		o.out = append(o.out, '{')
	}
	return append(o.out, '}')
}
