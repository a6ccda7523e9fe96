package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// clientForm is how one client is told of the server.
type clientForm struct{ client, where, http, stdio string }

// clientForms are ready to be pasted. An empty token stands for that in the
// variable WRIT_TOKEN of the client. The command is that which starts writ
// stdio.
func clientForms(url, token string, command []string) []clientForm {
	inShell, codex := quoted("Authorization: Bearer "+token), "http_headers = { Authorization = "+strconv.Quote("Bearer "+token)+" }"
	cursor, code := "Bearer "+token, map[string]any{}
	if token == "" {
		inShell, codex = `"Authorization: Bearer $WRIT_TOKEN"`, `bearer_token_env_var = "WRIT_TOKEN"`
		cursor = "Bearer ${env:WRIT_TOKEN}"
		code["inputs"] = []any{map[string]any{"type": "promptString", "id": "writ", "description": "Token of Writ", "password": true}}
		token = "${input:writ}"
	}
	program, args := command[0], command[1:]
	code["servers"] = map[string]any{"writ": map[string]any{
		"type": "http", "url": url, "headers": map[string]string{"Authorization": "Bearer " + token},
	}}
	return []clientForm{
		{"Claude Code", "run",
			fmt.Sprintf("claude mcp add --transport http writ %s --header %s", url, inShell),
			"claude mcp add writ -- " + quotedAll(command)},
		{"Codex", "in ~/.codex/config.toml",
			fmt.Sprintf("[mcp_servers.writ]\nurl = %s\n%s", strconv.Quote(url), codex),
			fmt.Sprintf("[mcp_servers.writ]\ncommand = %s\nargs = %s", strconv.Quote(program), compact(args))},
		{"Cursor", "in ~/.cursor/mcp.json",
			compact(nest("mcpServers", map[string]any{"url": url, "headers": map[string]string{"Authorization": cursor}})),
			compact(nest("mcpServers", map[string]any{"command": program, "args": args}))},
		{"VS Code", "in .vscode/mcp.json",
			compact(code),
			compact(nest("servers", map[string]any{"type": "stdio", "command": program, "args": args}))},
	}
}

func nest(key string, entry any) map[string]any {
	return map[string]any{key: map[string]any{"writ": entry}}
}

func compact(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // texts, lists and maps of them always encode
	return strings.TrimSpace(b.String())
}

func (a *app) printClients(w io.Writer, forms []clientForm) {
	for _, over := range []struct {
		title string
		text  func(clientForm) string
	}{
		{"clients that connect over HTTP", func(f clientForm) string { return f.http }},
		{"clients that start a program", func(f clientForm) string { return f.stdio }},
	} {
		fmt.Fprintf(w, "\n%s\n", a.paint(w, bold, over.title))
		for _, f := range forms {
			fmt.Fprintf(w, "  %-11s  %s\n%s\n", f.client, a.paint(w, dim, f.where), indent(over.text(f), "    "))
		}
	}
}

// stdioWords is the command line with which a client starts this server on
// standard input and output.
func (a *app) stdioWords(p *place) []string {
	program, err := os.Executable()
	if err != nil || strings.Contains(program, "go-build") { // started by go run
		program = "writ"
	}
	words := []string{program, "stdio"}
	if !p.configuration.Embedded {
		words = append(words, "--config", p.configuration.Dir)
	}
	if p.settings.StateDir != "" {
		words = append(words, "--state-dir", p.state)
	}
	return words
}

// quoted quotes a word for a shell where it has to be.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func quotedAll(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = quoted(word)
	}
	return strings.Join(out, " ")
}
