package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/diag"
)

// The exit codes. They are stable; docs/cli.md lists them.
const (
	exitFine    = 0
	exitFailed  = 1 // mistakes in the configuration, a failed test, a failed tool
	exitUnable  = 2 // could not run: usage, state, network
	exitRefused = 3 // call: denied, or needs an approval
	exitInvalid = 4 // call: no such tool, or invalid arguments
)

// app is one run of the command line.
type app struct {
	in          io.Reader
	out, errors io.Writer
	environ     []string
	folder      func() (string, error) // the current one
	now         func() time.Time
	user        func() string
	terminal    func(w any) bool

	config, stateDir string
	json, noColor    bool
	dangerousGrants  bool
}

// ended is an error that has been shown already.
type ended struct{ code int }

func (e ended) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// mistakes is a configuration that does not load.
type mistakes struct{ list diag.List }

func (m mistakes) Error() string { return m.list.Err().Error() }

// run carries out one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errors)
	command, err := root.ExecuteContextC(ctx)
	var shown ended
	var wrong mistakes
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &shown):
		return shown.code
	case errors.As(err, &wrong):
		a.diagnostics(a.errors, wrong.list)
		fmt.Fprintf(a.errors, "writ: the configuration has %s\n", count(wrong.list.Errors(), "mistake"))
		if command.Annotations[unableOnMistakes] != "" {
			return exitUnable
		}
		return exitFailed
	}
	fmt.Fprintf(a.errors, "writ: %v\n", err)
	if isUsage(err) {
		fmt.Fprintf(a.errors, "Run '%s --help' for usage.\n", command.CommandPath())
	}
	return exitUnable
}

// unableOnMistakes marks commands whose exit code 1 means something else than
// mistakes in the configuration.
const unableOnMistakes = "unable-on-mistakes"

// usage is a mistake in the command line.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	var u usage
	return errors.As(err, &u) || strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "required flag")
}

// positional turns cobra's complaints about arguments into usage mistakes.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage{err}
		}
		return nil
	}
}

// environment reads one variable.
func (a *app) environment(name string) (text string, set bool) {
	for _, pair := range a.environ {
		if rest, ok := strings.CutPrefix(pair, name+"="); ok {
			text, set = rest, true
		}
	}
	return text, set
}

func (a *app) getenv(name string) string {
	text, _ := a.environment(name)
	return text
}

// currentUser names who runs this process, as the system knows them.
func currentUser() string {
	who, err := user.Current()
	if err != nil {
		return "unknown"
	}
	if who.Username != "" {
		return who.Username
	}
	return "uid-" + who.Uid
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
