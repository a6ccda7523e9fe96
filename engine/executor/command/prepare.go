package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// pinned is what Execute starts. Values of secrets are not in it: environ and
// input are rendered again with them, from the same arguments.
type pinned struct {
	owner     *command
	program   program
	argv      []string
	cwd       string
	environ   []string
	input     string
	hasInput  bool
	hasSecret bool
	arguments map[string]any
}

// Prepare fixes the program, its arguments, variables, folder and input.
func (c *command) Prepare(_ context.Context, input executor.Input) (call.Effect, error) {
	p := &pinned{owner: c, arguments: input.Arguments}
	var effect call.Effect
	lookup := c.lookup(input.Arguments, func(name string) (string, error) {
		p.hasSecret = true
		return c.mention(name, input.Offline, &effect)
	})
	var err error
	if p.argv, err = c.render(lookup); err != nil {
		return call.Effect{}, err
	}
	if p.cwd, err = c.cwdOf(lookup); err != nil {
		return call.Effect{}, err
	}
	var env map[string]any
	if p.environ, env, err = c.environ(lookup); err != nil {
		return call.Effect{}, err
	}
	if p.input, p.hasInput, err = c.input(lookup); err != nil {
		return call.Effect{}, err
	}
	if total := size(p.argv) + size(p.environ); total > MaxTotalBytes {
		return call.Effect{}, fmt.Errorf("the arguments and variables have %d bytes together; at most %d are possible", total, MaxTotalBytes)
	}
	identity := map[string]any{"name": p.argv[0]}
	shown := p.argv[0]
	if input.Offline {
		effect.Unresolved = append(effect.Unresolved, p.argv[0])
	} else {
		if p.program, err = c.find(p.argv[0]); err != nil {
			return call.Effect{}, err
		}
		if info, err := os.Stat(p.cwd); err != nil || !info.IsDir() {
			return call.Effect{}, errors.New("the folder to work in is not there")
		}
		identity, shown = p.program.bound(), p.program.path
	}
	effect.Bound = c.bound(p, identity, env)
	effect.Preview = preview(shown, p, value.Keys(env))
	effect.Pinned = p
	return effect, nil
}

func (c *command) bound(p *pinned, identity, env map[string]any) map[string]any {
	argv := make([]any, len(p.argv))
	for i, word := range p.argv {
		argv[i] = word
	}
	success := make([]any, len(c.success))
	for i, code := range c.success {
		success[i] = int64(code)
	}
	bound := map[string]any{
		"kind": "command", "program": identity, "argv": argv, "cwd": p.cwd, "env": env,
		"uid": int64(os.Getuid()), "timeout": c.timeout.String(), "success_codes": success,
	}
	if p.hasInput {
		bound["stdin"] = p.input
	}
	return bound
}

// preview is what an approver reads: everything that is bound and that a
// caller can decide.
func preview(program string, p *pinned, names []string) string {
	var b strings.Builder
	b.WriteString(quote(append([]string{program}, p.argv[1:]...)) + "\n")
	b.WriteString("in " + quote([]string{p.cwd}) + "\n")
	for _, entry := range p.environ {
		name, v, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(p.owner.env, func(v variable) bool { return v.name == name }) {
			b.WriteString("with " + name + "=" + quote([]string{v}) + "\n")
		} else {
			b.WriteString("with the server's " + name + "\n")
		}
	}
	if p.hasInput {
		fmt.Fprintf(&b, "with %d bytes of standard input:\n%s", len(p.input), p.input)
	}
	return b.String()
}

// lookup gives templates the arguments, and secrets by the given function.
func (c *command) lookup(arguments map[string]any, secret func(name string) (string, error)) template.Lookup {
	args := template.Values(map[string]any{"args": arguments})
	return func(path []string) (any, bool, error) {
		if path[0] != "secrets" {
			return args(path)
		}
		text, err := secret(path[1])
		return text, err == nil, err
	}
}

// mention stands for a secret in what is bound: its name and the digest of
// its value, so that another value is another effect.
func (c *command) mention(name string, offline bool, effect *call.Effect) (string, error) {
	var digest string
	var err error
	if digester, ok := c.secrets.(executor.Digester); ok {
		digest, err = digester.Digest(name)
	} else {
		_, err = c.secrets.Value(name)
	}
	if err != nil {
		if !offline {
			return "", err
		}
		if unresolved := "secret " + name; !slices.Contains(effect.Unresolved, unresolved) {
			effect.Unresolved = append(effect.Unresolved, unresolved)
		}
	}
	return strings.TrimSpace("[secret "+name+" "+digest) + "]", nil
}

// reveal renders what holds secrets with their values.
func (c *command) reveal(p *pinned) (environ []string, input string, err error) {
	if !p.hasSecret {
		return p.environ, p.input, nil
	}
	lookup := c.lookup(p.arguments, c.secrets.Value)
	if environ, _, err = c.environ(lookup); err != nil {
		return nil, "", err
	}
	if input, _, err = c.input(lookup); err != nil {
		return nil, "", err
	}
	return environ, input, nil
}

func size(entries []string) int {
	n := 0
	for _, entry := range entries {
		n += len(entry) + 1
	}
	return n
}
