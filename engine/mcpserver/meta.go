package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// The server's own tools. No declared tool can have a name that begins so.
const (
	inspectName = "writ_inspect"
	toolsName   = "writ_tools"
	invokeName  = "writ_invoke"
)

const (
	inspectSchema = `{"type":"object","properties":{},"additionalProperties":false}`
	toolsSchema   = `{"type":"object","properties":{"filter":{"type":"string","maxLength":200,"description":"Only tools with this text in name, title, group or description"}},"additionalProperties":false}`
	invokeSchema  = `{"type":"object","properties":{"tool":{"type":"string","minLength":1,"maxLength":128,"description":"Name of the tool, as writ_tools lists it"},"arguments":{"type":"object","description":"Arguments of the tool, as its inputSchema says"}},"required":["tool"],"additionalProperties":false}`
)

// addMetaTools lists the server's own tools (S-20).
func (s *Server) addMetaTools() {
	read := Annotations{ReadOnly: true, Idempotent: true}
	s.sdk.AddTool(Tool{
		Name: inspectName, Title: "Describe this server", Annotations: read, Input: json.RawMessage(inspectSchema),
		Description: "Tells which build and configuration of the server answers: version, build identity, protocol versions, catalog generation, and the tools that are unavailable with the reason.",
	}.definition(), s.own(inspectName, s.inspect))
	s.sdk.AddTool(Tool{
		Name: toolsName, Title: "List callable tools", Annotations: read, Input: json.RawMessage(toolsSchema),
		Description: "Lists the tools that can be called now, with their input schemas and hints. That a tool is listed does not mean that policy permits a given call.",
	}.definition(), s.own(toolsName, s.listTools))
	if s.options.Expose == ExposeNative {
		return
	}
	s.sdk.AddTool(Tool{
		// The worst of all tools that it can reach.
		Name: invokeName, Title: "Call a tool by name", Annotations: Annotations{Destructive: true, OpenWorld: true}, Input: json.RawMessage(invokeSchema),
		Description: "Calls the named tool with the given arguments. The call is checked like any other; the result is the tool's own.",
	}.definition(), s.own(invokeName, s.invoke))
}

// own makes a handler whose mistakes are results, like those of any tool.
func (s *Server) own(name string, handle func(context.Context, *mcp.CallToolRequest) (call.Result, error)) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if name, ok := ctx.Value(redirectKey{}).(string); ok {
			return s.native(name)(ctx, request)
		}
		result, err := handle(ctx, request)
		if err != nil {
			result = refusal(name, call.Refused, codeInvalid, err.Error())
		}
		return present(result), nil
	}
}

// fields reads an object of which only these fields may be there.
func (s *Server) fields(arguments []byte, allowed ...string) (map[string]json.RawMessage, error) {
	if limit := s.options.Limits.MaxArguments; len(arguments) > limit {
		return nil, fmt.Errorf("arguments have %d bytes, at most %d are allowed", len(arguments), limit)
	}
	if len(arguments) == 0 || string(arguments) == "null" {
		return nil, nil
	}
	if arguments[0] != '{' {
		return nil, fmt.Errorf("arguments must be an object")
	}
	found := map[string]json.RawMessage{}
	for name, raw := range members(arguments) {
		key, known := string(name), false
		for _, name := range allowed {
			known = known || name == key
		}
		switch _, twice := found[key]; {
		case !known && len(allowed) == 0:
			return nil, fmt.Errorf("unknown argument %q: this tool takes none", key)
		case !known:
			return nil, fmt.Errorf("unknown argument %q: use %s", key, strings.Join(allowed, " and "))
		case twice:
			return nil, fmt.Errorf("argument %q is given twice", key)
		}
		found[key] = json.RawMessage(raw)
	}
	return found, nil
}

func text(fields map[string]json.RawMessage, name string) (string, error) {
	raw, given := fields[name]
	if !given {
		return "", nil
	}
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		return "", fmt.Errorf("argument %q must be a string", name)
	}
	return *value, nil
}

func (s *Server) invoke(ctx context.Context, request *mcp.CallToolRequest) (call.Result, error) {
	fields, err := s.fields(request.Params.Arguments, "tool", "arguments")
	if err != nil {
		return call.Result{}, err
	}
	name, err := text(fields, "tool")
	if err != nil {
		return call.Result{}, err
	}
	if name == "" || len(name) > maxName {
		return call.Result{}, fmt.Errorf("argument \"tool\" must name a tool, in at most 128 bytes")
	}
	arguments := fields["arguments"]
	if len(arguments) > 0 && arguments[0] != '{' && string(arguments) != "null" {
		return call.Result{}, fmt.Errorf("argument \"arguments\" must be an object")
	}
	if Reserved(name) {
		return refusal(name, call.Refused, codeUnknownTool, fmt.Sprintf("%s cannot be invoked: call it by its own name", name)), nil
	}
	return s.call(ctx, request, name, arguments), nil
}

// described is one tool in the answer of writ_tools.
type described struct {
	Name         string               `json:"name"`
	Title        string               `json:"title,omitempty"`
	Description  string               `json:"description"`
	Group        string               `json:"group,omitempty"`
	Risk         string               `json:"risk,omitempty"`
	Annotations  *mcp.ToolAnnotations `json:"annotations"`
	InputSchema  json.RawMessage      `json:"inputSchema"`
	OutputSchema json.RawMessage      `json:"outputSchema,omitempty"`
}

func (s *Server) listTools(_ context.Context, request *mcp.CallToolRequest) (call.Result, error) {
	fields, err := s.fields(request.Params.Arguments, "filter")
	if err != nil {
		return call.Result{}, err
	}
	filter, err := text(fields, "filter")
	if err != nil {
		return call.Result{}, err
	}
	filter = strings.ToLower(filter)
	list := []described{}
	v := s.view.Load()
	for _, t := range v.tools {
		if t.Unavailable != "" || Reserved(t.Name) ||
			!strings.Contains(strings.ToLower(t.Name+"\n"+t.Title+"\n"+t.Group+"\n"+t.Description), filter) {
			continue
		}
		list = append(list, described{t.Name, t.Title, t.Description, t.Group, t.Risk, t.definition().Annotations, t.Input, t.Output})
	}
	return s.told(toolsName, v.generation, map[string]any{"tools": list})
}

// Inspection is the answer of writ_inspect. UID is null where the system has
// no such thing.
type Inspection struct {
	Server           string    `json:"server"`
	Version          string    `json:"version"`
	Build            Build     `json:"build_identity"`
	ProtocolVersions []string  `json:"protocol_versions"`
	UID              *int      `json:"uid"`
	Generation       uint64    `json:"generation"`
	Tools            int       `json:"tools"`
	Unavailable      []missing `json:"unavailable"`
}

type missing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (s *Server) inspect(_ context.Context, request *mcp.CallToolRequest) (call.Result, error) {
	if _, err := s.fields(request.Params.Arguments); err != nil {
		return call.Result{}, err
	}
	v := s.view.Load()
	seen := Inspection{
		Server: s.options.Name, Version: s.options.Version, Build: s.build(),
		ProtocolVersions: mcp.SupportedProtocolVersions(), Generation: v.generation, Unavailable: []missing{},
	}
	if uid := os.Getuid(); uid >= 0 {
		seen.UID = &uid
	}
	for _, t := range v.tools {
		if t.Unavailable != "" {
			seen.Unavailable = append(seen.Unavailable, missing{t.Name, t.Unavailable})
			continue
		}
		seen.Tools++
	}
	return s.told(inspectName, v.generation, seen)
}

// told makes a result of what the server says about itself, as text and as
// structure.
func (s *Server) told(tool string, generation uint64, answer any) (call.Result, error) {
	data, err := json.Marshal(answer)
	if err != nil {
		return call.Result{}, fmt.Errorf("write answer: %w", err)
	}
	return call.Result{
		Tool: tool, Success: true, Status: call.Complete, Output: string(data),
		Structured: json.RawMessage(data), Generation: generation,
	}, nil
}
