package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// defaultFolder is where a program runs whose tool names no cwd: a place that
// is the same everywhere and holds nothing by itself.
const defaultFolder = "/"

// basics are the variables of the server that every program gets (if set).
func basics() []string { return []string{"PATH", "HOME", "LANG"} }

func (c *compiler) folder() {
	if c.block.Cwd == "" {
		return
	}
	c.out.cwd = c.parse(c.block.Cwd, template.Word, false, "cwd")
	if c.out.cwd == nil {
		return
	}
	first := c.out.cwd.Parts()[0]
	if !first.IsSlot() {
		if !strings.HasPrefix(first.Literal, "/") {
			c.mistakes.Errorf(c.at("cwd"), "relative-cwd", "cwd is not absolute").
				Hinted("write an absolute folder, or a path argument such as ${args.repo}")
		}
		return
	}
	if t, _, _ := c.roots().Lookup(first.Path); t.Format != "path" {
		c.mistakes.Errorf(c.at("cwd"), "cwd-slot", "${%s} is not a path, so it could lead anywhere", first.Name()).
			Hinted("give the argument format: path and under: [ROOT]")
	}
}

func (c *compiler) input() {
	if c.block.Stdin != nil && c.block.StdinJSON != nil {
		c.mistakes.Errorf(c.at("stdin_json"), "two-stdin", "stdin and stdin_json cannot both be given")
		return
	}
	if c.block.Stdin != nil {
		c.out.stdin = c.parse(*c.block.Stdin, template.Word, true, "stdin")
	}
	if c.block.StdinJSON == nil {
		return
	}
	parsed, mistakes := template.ParseJSON(json.RawMessage(c.block.StdinJSON), func(path ...any) diag.Position {
		return c.at(append([]any{"stdin_json"}, path...)...)
	})
	if parsed != nil && c.checkSecrets(parsed.Slots(), true, "stdin_json") {
		mistakes = append(mistakes, parsed.Check(c.roots())...)
	}
	c.mistakes = append(c.mistakes, mistakes...)
	c.out.stdinJSON = parsed
}

func (c *compiler) environment() {
	for _, name := range value.Keys(c.block.Env) {
		at := c.Tool.Source.Key("command", "env", name)
		if !isVariable(name) {
			c.mistakes.Errorf(at, "env-name", "%q is no name of a variable", name)
			continue
		}
		parsed := c.parse(c.block.Env[name], template.Key, true, "env", name)
		if parsed == nil {
			continue
		}
		if len(parsed.Slots()) > 0 && decidesCode(name) {
			c.mistakes.Errorf(at, "env-code", "%s decides which code a program runs and cannot come from a slot", name)
		}
		if slot, whole := parsed.Whole(); whole {
			if t, _, _ := c.roots().Lookup(slot); !scalar(t) {
				c.mistakes.Errorf(c.at("env", name), "env-type", "${%s} is %s, which has no text", strings.Join(slot, "."), t.Kind)
			}
		}
		c.out.env = append(c.out.env, variable{name, parsed})
	}
	for i, name := range c.block.InheritEnv {
		if !isVariable(name) {
			c.mistakes.Errorf(c.at("inherit_env", i), "env-name", "%q is no name of a variable", name)
		}
	}
	c.out.inherit = append(basics(), c.block.InheritEnv...)
}

func isVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// decidesCode names variables by which whoever sets them chooses code that
// the program, its loader or its shell runs.
func decidesCode(name string) bool {
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "GIT_CONFIG") {
		return true
	}
	return slices.Contains([]string{
		"PATH", "ENV", "BASH_ENV", "SHELLOPTS", "PS4", "IFS", "SHELL", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH",
		"PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "CLASSPATH", "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH",
	}, name)
}

// cwdOf renders the folder and checks that it can be one.
func (c *command) cwdOf(lookup template.Lookup) (string, error) {
	if c.cwd == nil {
		return defaultFolder, nil
	}
	path, err := c.cwd.Text(lookup)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || hasNUL(path) {
		return "", errors.New("the folder to work in is not a clean absolute path")
	}
	if path != defaultFolder && c.guard != nil && c.guard.Protected(path) {
		return "", errors.New("the folder to work in holds Writ's own files, which no tool can reach")
	}
	return path, nil
}

// environ renders the variables, in the order of their names. Bound holds
// what an approval binds of each: its value, with secrets by name and digest,
// and for what is inherited a digest.
func (c *command) environ(lookup template.Lookup) (environ []string, bound map[string]any, err error) {
	values := map[string]string{}
	bound = map[string]any{}
	for _, name := range c.inherit {
		v, ok := c.kind.Env(name)
		if name == "PATH" {
			v = absoluteFolders(v)
			ok = v != "" // an empty PATH would mean the folder that the program works in
		}
		if !ok || hasNUL(v) {
			continue
		}
		values[name] = v
		if slices.Contains(basics(), name) {
			bound[name] = v
		} else {
			bound[name] = map[string]any{"inherited": c.kind.digest(v)}
		}
	}
	for _, variable := range c.env {
		v, present, err := variable.text.Value(lookup)
		if err != nil {
			return nil, nil, err
		}
		delete(values, variable.name)
		delete(bound, variable.name)
		if !present {
			continue
		}
		text, ok := value.Text(v)
		if !ok || hasNUL(text) {
			return nil, nil, fmt.Errorf("the variable %s cannot have this value", variable.name)
		}
		values[variable.name], bound[variable.name] = text, text
	}
	for _, name := range value.Keys(values) {
		entry := name + "=" + values[name]
		if len(entry) > MaxItemBytes {
			return nil, nil, fmt.Errorf("the variable %s has %d bytes; at most %d are possible", name, len(entry), MaxItemBytes)
		}
		environ = append(environ, entry)
	}
	return environ, bound, nil
}

// absoluteFolders leaves out of a PATH what is relative or empty. What a
// program starts by name would otherwise be looked for where it works, which
// may be a repository that somebody else filled.
func absoluteFolders(path string) string {
	folders := slices.DeleteFunc(filepath.SplitList(path), func(folder string) bool { return !filepath.IsAbs(folder) })
	return strings.Join(folders, string(filepath.ListSeparator))
}

// input renders standard input; present is false when there is none.
func (c *command) input(lookup template.Lookup) (text string, present bool, err error) {
	switch {
	case c.stdin != nil:
		text, err = c.stdin.Text(lookup)
	case c.stdinJSON != nil:
		var v any
		if v, err = c.stdinJSON.Render(lookup); err == nil {
			text = string(value.JSON(v)) + "\n"
		}
	default:
		return "", false, nil
	}
	if err == nil && len(text) > MaxStdinBytes {
		err = fmt.Errorf("the standard input has %d bytes; at most %d are possible", len(text), MaxStdinBytes)
	}
	return text, true, err
}
