package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/command"
	"github.com/writ-dev/writ/engine/executor/file"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
)

// tool is the document of a tool with three kinds of arguments.
func tool(n int) string {
	return fmt.Sprintf(`kind: Tool
name: tool_%[1]d
title: Tool number %[1]d
description: |
  Does what tool number %[1]d does, and says what came of it. It is one of
  many that a catalog of some size has.
group: group_%[2]d
labels: {team: team_%[3]d, tier: gold}
args:
  path: {type: string, minLength: 1, maxLength: 200, description: What to look at}
  limit: {type: integer, minimum: 0, maximum: 1000, default: 10, description: How many at most}
  mode: {type: string, enum: [plain, short], default: plain, description: How to show it}
  note: {type: string, maxLength: 100, optional: true, description: Why}
risk: read_only
scope: {mode: "${args.mode}"}
command:
  argv: [echo, "number %[1]d", "${options}", "${args.path}"]
  options:
    limit: {flag: --limit}
timeout: 10s
output:
  as: lines
  max_bytes: 64KiB
`, n, n/10, n%7)
}

// conditions are rules of the shapes that policies have; none fires for the
// calls of the bench.
func conditions(n int) []string {
	var list []string
	for i := range n {
		list = append(list, []string{
			fmt.Sprintf("args.path startsWith '/srv/%d/'", i),
			fmt.Sprintf("args.path matches '^/etc/[a-z]+%d$'", i),
			fmt.Sprintf("args.limit > %d and args.limit < 990", 900+i),
			fmt.Sprintf("args.mode in ['short'] and 'role%d' in principal.roles", i),
		}[i%4])
	}
	return list
}

// groupRules is a file of ten rules for ten tools.
func groupRules(group int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind: RiskRules\nname: group-%d\nmatch: {groups: [group_%d]}\nrules:\n", group, group)
	for i, when := range conditions(10) {
		fmt.Fprintf(&b, "  - id: g%d-%d\n    when: \"%s\"\n    risk: mutating\n    message: it is rule %d of group %d\n", group, i, when, i, group)
	}
	return b.String()
}

// configuration writes a folder with a number of tools, one in each file, and
// as many rules, ten in each file. Every tool has ten rules that can apply.
func (b *bench) configuration(tools int) (string, error) {
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	files := map[string]string{"writ.yaml": "version: 1\ndocuments: [tools.d, policies]\n"}
	for n := range tools {
		files[fmt.Sprintf("tools.d/tool_%d.yaml", n)] = tool(n)
		if n%10 == 0 {
			files[fmt.Sprintf("policies/group_%d.yaml", n/10)] = groupRules(n / 10)
		}
	}
	return dir, write(dir, files)
}

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
	}
	return nil
}

// compiler compiles catalogs as the binary does, without HTTP.
func (b *bench) compiler() (*catalog.Compiler, catalog.Inputs, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, catalog.Inputs{}, err
	}
	roots, err := root.Open(map[string]string{"work": dir}, dir, nil)
	if err != nil {
		return nil, catalog.Inputs{}, err
	}
	return catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{"command": command.New(command.Options{Env: os.LookupEnv}), "file": file.Kind{}},
		Secrets: func(documents []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(documents, secret.Options{Env: os.LookupEnv})
		},
		Now: time.Now,
	}), catalog.Inputs{Roots: roots}, nil
}
