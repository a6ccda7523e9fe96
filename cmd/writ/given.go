package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/value"
)

// typed are the arguments of a call as a person typed them: an object in JSON,
// and pairs beside it.
type typed struct {
	JSON  string `json:"json,omitempty"`
	Pairs []pair `json:"pairs,omitempty"`
}

// pair is key=value, or key:=JSON.
type pair struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	JSON bool   `json:"json,omitempty"`
}

// parseGiven reads what was typed.
func parseGiven(object string, words []string) (typed, error) {
	given := typed{JSON: strings.TrimSpace(object)}
	if given.JSON != "" && !strings.HasPrefix(given.JSON, "{") {
		return given, usagef("--args must be a JSON object, such as '{\"key\": \"value\"}'")
	}
	for _, text := range words {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return given, usagef("argument %q: write key=value, or key:=JSON", text)
		}
		if plain, isJSON := strings.CutSuffix(key, ":"); isJSON {
			if !json.Valid([]byte(rest)) {
				return given, usagef("argument %q: what follows := must be JSON; write %s=… for plain text", text, plain)
			}
			given.Pairs = append(given.Pairs, pair{Key: plain, Text: rest, JSON: true})
			continue
		}
		given.Pairs = append(given.Pairs, pair{Key: key, Text: rest})
	}
	return given, nil
}

// raw makes the JSON that goes into the pipeline, which checks it like that of
// any caller. Text becomes a string, which the schema may take as a number or
// boolean; where the schema wants a list, repeated keys and even a single one
// become its items.
func (g typed) raw(t *catalog.Tool) ([]byte, error) {
	if len(g.Pairs) == 0 {
		return []byte(g.JSON), nil
	}
	if g.JSON != "" && !json.Valid([]byte(g.JSON)) {
		return nil, errors.New("--args is not valid JSON")
	}
	var order []string
	members := map[string][]json.RawMessage{}
	for _, p := range g.Pairs {
		if members[p.Key] == nil {
			order = append(order, p.Key)
		}
		members[p.Key] = append(members[p.Key], p.raw())
	}
	var b bytes.Buffer
	b.WriteByte('{')
	if inner := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(g.JSON, "{"), "}")); inner != "" {
		b.WriteString(inner + ",")
	}
	for i, key := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(key)
		b.Write(append(name, ':'))
		switch values := members[key]; {
		case wantsList(t, key) && !isList(values):
			b.WriteByte('[')
			b.Write(bytes.Join(raws(values), []byte{','}))
			b.WriteByte(']')
		case len(values) > 1:
			return nil, fmt.Errorf("argument %q is given %d times, and is not a list", key, len(values))
		default:
			b.Write(values[0])
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (p pair) raw() json.RawMessage {
	if p.JSON {
		return json.RawMessage(p.Text)
	}
	text, _ := json.Marshal(p.Text) // a string always encodes
	return text
}

func raws(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// isList reports whether one value is the whole list.
func isList(values []json.RawMessage) bool {
	return len(values) == 1 && bytes.HasPrefix(bytes.TrimSpace(values[0]), []byte("["))
}

func wantsList(t *catalog.Tool, key string) bool {
	return t != nil && t.Arguments != nil && t.Arguments.Type().Fields[key].Type.Kind == value.List
}
