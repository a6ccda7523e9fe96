package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func eachCommand(root *cobra.Command, do func(*cobra.Command)) {
	do(root)
	for _, c := range root.Commands() {
		eachCommand(c, do)
	}
}

// Help that teaches: every command says what it does at length, and shows it.
func TestEveryCommandTeaches(t *testing.T) {
	a := &app{}
	eachCommand(a.command(), func(c *cobra.Command) {
		if c.Name() == "no-help" {
			return
		}
		if c.Short == "" || len(c.Long) < 40 || !strings.Contains(c.Example, "writ ") {
			t.Errorf("%s: needs Short, Long and Example", c.CommandPath())
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of its help has more than 80 characters: %s", c.CommandPath(), line)
			}
		}
	})
}

func TestReferenceIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{}
	if !bytes.Equal(committed, reference(a.command())) {
		t.Error("docs/cli.md is out of date: run go generate ./cmd/writ")
	}
}
