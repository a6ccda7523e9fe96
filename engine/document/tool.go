package document

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Tool declares one thing that can be called.
type Tool struct {
	Header
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description"`
	Group       string            `json:"group,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// Enabled is the switch when neither tool_overrides nor tool_groups of
	// writ.yaml says otherwise; nil means true.
	Enabled *bool `json:"enabled,omitempty"`

	// Exactly one of Args (the short form, in the order written) and
	// InputSchema (JSON Schema 2020-12, verbatim) is used; neither means that
	// the tool takes no arguments.
	Args         Arguments       `json:"args,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Refuse       []Refuse        `json:"refuse,omitempty"`
	Examples     []Example       `json:"examples,omitempty"`

	Risk       string            `json:"risk"` // a level, or per_call
	Idempotent bool              `json:"idempotent,omitempty"`
	Scope      map[string]string `json:"scope,omitempty"` // templates
	Locks      []string          `json:"locks,omitempty"` // templates
	Hold       string            `json:"hold,omitempty"`  // call (default) or task
	Requires   *Requires         `json:"requires,omitempty"`

	// Exactly one of these says how the effect is carried out.
	Command *Command `json:"command,omitempty"`
	HTTP    *HTTP    `json:"http,omitempty"`
	TLS     *TLS     `json:"tls,omitempty"`
	File    *File    `json:"file,omitempty"`

	Timeout Duration `json:"timeout,omitempty"` // 0 means 30s
	Output  *Output  `json:"output,omitempty"`
}

// Arguments is the short form of a tool's arguments, in the order written.
type Arguments []Argument

// Argument is one argument of the short form. Schema is plain JSON Schema
// with Writ's own annotations left in at any depth: under, must and
// allow_leading. An argument without default is required unless Optional.
type Argument struct {
	Name     string
	Optional bool
	Schema   json.RawMessage
}

// UnmarshalJSON reads an object and keeps the order of its keys.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("read args: want an object: %w", err)
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		argument := Argument{Name: token.(string)}
		if err := decoder.Decode(&argument.Schema); err != nil {
			return err
		}
		var flags struct {
			Optional bool `json:"optional"`
		}
		if err := json.Unmarshal(argument.Schema, &flags); err != nil {
			return err
		}
		argument.Optional = flags.Optional
		*a = append(*a, argument)
	}
	return nil
}

// Refuse is a check across arguments: when When holds or cannot be evaluated,
// the call is refused before anybody is asked.
type Refuse struct {
	ID      string `json:"id"`
	When    string `json:"when"`
	Message string `json:"message"`
}

// Example is a valid call that clients and models are shown.
type Example struct {
	Note string          `json:"note,omitempty"`
	Args json.RawMessage `json:"args"`
}

// Requires lists what must be there for the tool to be available.
type Requires struct {
	Commands []string `json:"commands,omitempty"`
	OS       []string `json:"os,omitempty"`
	Env      []string `json:"env,omitempty"`
}

// Command runs a program without a shell. Argv, Env values, Cwd and Stdin are
// templates; one item of Argv is one argument, except that a list spreads.
type Command struct {
	Argv    []string          `json:"argv"`
	Options map[string]Option `json:"options,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	// At most one of Stdin (text) and StdinJSON (an object whose strings are
	// templates) is given; neither means an empty standard input.
	Stdin     *string           `json:"stdin,omitempty"`
	StdinJSON json.RawMessage   `json:"stdin_json,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	// InheritEnv names variables of the server's own environment that the
	// program gets beside PATH, HOME and LANG.
	InheritEnv   []string `json:"inherit_env,omitempty"`
	SuccessCodes []int    `json:"success_codes,omitempty"` // nil means 0 alone
}

// Option says how one argument is spelt at the slot "${options}". Exactly one
// of Flag and Choose is given. A Flag that ends in = or : makes one item with
// its value, any other two. Join puts the elements of a list, or the pairs of
// a map, into one item.
type Option struct {
	Flag   string              `json:"flag,omitempty"`
	Join   string              `json:"join,omitempty"`
	Choose map[string][]string `json:"choose,omitempty"`
}

// HTTP sends one request. Either URL is given, or Connection and Path. Every
// string but Connection is a template; values in a URL are percent-encoded.
type HTTP struct {
	Connection string            `json:"connection,omitempty"`
	URL        string            `json:"url,omitempty"`
	Path       string            `json:"path,omitempty"`
	Method     string            `json:"method,omitempty"` // default GET
	Query      map[string]string `json:"query,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	JSON       json.RawMessage   `json:"json,omitempty"`
	Form       map[string]string `json:"form,omitempty"`
	Allow      []string          `json:"allow,omitempty"`
	Redirects  int               `json:"redirects,omitempty"`
	// MaxBytes is a size, or a template of one slot that gives a number of
	// bytes; "" means 256KiB (T-27). More than 2MiB is refused.
	MaxBytes   string   `json:"max_bytes,omitempty"`
	TryTimeout Duration `json:"try_timeout,omitempty"`
	// Save is a template of one slot, a path argument. The body is fetched in
	// prepare and written to that file after approval (T-29).
	Save string `json:"save,omitempty"`
}

// TLS inspects the certificate chain of a server (T-30). Port is a number, or
// a template of one slot; "" means 443.
type TLS struct {
	Host  string   `json:"host"`
	Port  Port     `json:"port,omitempty"`
	Allow []string `json:"allow,omitempty"`
}

// Port is written as a number or as a template.
type Port string

// UnmarshalJSON reads either form.
func (p *Port) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*p = Port(text)
	return nil
}

// File works on files under the roots of its path argument. Exactly one of
// Read, List, Search and Patch is given: a template of one slot, a path
// argument. Search needs Query; Patch needs OldText and NewText.
type File struct {
	Read    string `json:"read,omitempty"`
	List    string `json:"list,omitempty"`
	Search  string `json:"search,omitempty"`
	Patch   string `json:"patch,omitempty"`
	Query   string `json:"query,omitempty"`
	OldText string `json:"old_text,omitempty"`
	NewText string `json:"new_text,omitempty"`
}

// Output says how what came back is shaped for the caller: parse, rows,
// fields, mask, max_rows, max_bytes, render, in this order.
type Output struct {
	As        string       `json:"as,omitempty"` // text (default), lines, json, image
	MediaType string       `json:"media_type,omitempty"`
	Rows      string       `json:"rows,omitempty"`   // dotted path to the list
	Fields    OutputFields `json:"fields,omitempty"` // allow-list
	MaxRows   int          `json:"max_rows,omitempty"`
	MaxBytes  Size         `json:"max_bytes,omitempty"` // 0 means 64KiB
	Render    string       `json:"render,omitempty"`    // json (default) or table
}

// OutputFields is an allow-list of fields in the order written, which is the
// order of columns.
type OutputFields []OutputField

// UnmarshalJSON reads an object and keeps the order of its keys.
func (f *OutputFields) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("read fields: want an object: %w", err)
	}
	*f = OutputFields{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		field := OutputField{}
		if err := decoder.Decode(&field); err != nil {
			return err
		}
		field.Name = token.(string)
		*f = append(*f, field)
	}
	return nil
}

// OutputField is one field that callers see, under Name. Path is dotted, with
// [] for each element. Mask keeps the key and hides the value.
type OutputField struct {
	Name string `json:"-"`
	Path string `json:"path"`
	Type string `json:"type,omitempty"`
	Mask bool   `json:"mask,omitempty"`
}
