// Package command answers one question: how does a declared program run?
//
// A command is a list of arguments, never a line for a shell: one item of
// argv is one argument, whatever a value holds. Compile turns the command
// block of a tool into templates and refuses what could make a value into an
// option, a script or code; Prepare finds the program and fixes every
// argument, variable, folder and byte of input; Execute starts exactly that,
// in its own process group, keeps a bounded part of what it prints, and
// returns only when the program has ended and been waited for. The package
// never starts a shell by itself, never looks for a program in the current
// folder, and gives a program nothing of the server's environment but the
// absolute folders of PATH, HOME, LANG and what its tool names.
package command

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/mask"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Bounds. The kernel of the reference system takes 128 KiB for one string;
// the rest keeps one call from asking for more than it needs.
const (
	MaxItemBytes  = 128<<10 - 1 // one argument, or one variable with its name
	MaxTotalBytes = 1 << 20     // all arguments and variables
	MaxStdinBytes = 1 << 20
	// DefaultCapture is kept of each stream when a Run names no bound.
	DefaultCapture = 1 << 20
	// DefaultGrace lies between TERM and KILL (P-97), and is how long the
	// pipes of a program that has ended are still read.
	DefaultGrace = 500 * time.Millisecond
)

const defaultTimeout = 30 * time.Second // P-97, as package tool has it

// Options is what New works with.
type Options struct {
	// Env reads a variable of the server's environment. PATH decides where
	// programs are found; only its absolute folders count.
	Env func(name string) (string, bool)
	// Key makes digests of inherited variables useless to anybody else: an
	// approval binds their values, but nobody should read them there.
	Key []byte
	Log *slog.Logger // nil discards
	// Masked, when it is available, starts the programs where Writ's own files
	// and the user's home are hidden. nil starts them as the server is.
	Masked Masked
	// Visible gives what of the hidden places a tool's program may read; nil
	// means nothing.
	Visible func(*document.Tool) []string
}

// Masked starts programs behind a mask; a *mask.Mask is one.
type Masked interface {
	// Available is asked before each start. False means that there is no mask
	// on this machine at all, never that it is broken at present.
	Available() bool
	Start(visible []string, p mask.Program) (mask.Link, error)
}

// New makes the kind. It lives as long as the process.
func New(options Options) executor.Kind {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &kind{Options: options, spawner: newSpawner(options.Masked)}
}

type kind struct {
	Options
	spawner *spawner
}

// command is one compiled tool. It is immutable.
type command struct {
	kind    *kind
	tool    string
	secrets executor.Secrets
	guard   executor.Guard

	argv      []item
	cwd       *template.Template // nil means defaultFolder
	stdin     *template.Template
	stdinJSON *template.JSON
	env       []variable
	inherit   []string
	success   []int
	timeout   time.Duration
	visible   []string
}

// variable is one entry of env.
type variable struct {
	name string
	text *template.Template
}

var _ executor.Executor = (*command)(nil)

// Compile checks a command block and reports every mistake of it.
func (k *kind) Compile(d executor.Declaration) (executor.Executor, diag.List) {
	c := &compiler{Declaration: d, block: d.Tool.Command, out: &command{
		kind: k, tool: d.Tool.Name, secrets: d.Secrets, guard: d.Guard,
		timeout: time.Duration(d.Tool.Timeout),
	}}
	if k.Visible != nil {
		c.out.visible = slices.Clone(k.Visible(d.Tool))
	}
	if c.out.timeout == 0 {
		c.out.timeout = defaultTimeout
	}
	if reason := unavailable(); reason != "" {
		c.mistakes.Errorf(c.at(), "command-unavailable", "%s", reason)
		return nil, c.mistakes
	}
	c.argv()
	c.program()
	c.folder()
	c.input()
	c.environment()
	c.codes()
	if c.mistakes.HasErrors() {
		return nil, c.mistakes
	}
	return c.out, c.mistakes
}

type compiler struct {
	executor.Declaration
	block    *document.Command
	out      *command
	mistakes diag.List
}

func (c *compiler) at(path ...any) diag.Position {
	return c.Tool.Source.At(append([]any{"command"}, path...)...)
}

// parse compiles one template. With secrets it may also read those that are
// for this tool; anywhere else a secret is a mistake, because it would show.
func (c *compiler) parse(text string, place template.Place, secrets bool, path ...any) *template.Template {
	parsed, mistakes := template.Parse(text, c.at(path...))
	if parsed != nil && c.checkSecrets(parsed.Slots(), secrets, path...) {
		mistakes = append(mistakes, parsed.Check(c.roots(), place)...)
	}
	c.mistakes = append(c.mistakes, mistakes...)
	if parsed == nil || mistakes.HasErrors() {
		return nil
	}
	return parsed
}

// roots is what templates may read. Which secrets they name has been checked.
func (c *compiler) roots() value.Type {
	roots := executor.Slots(c.Arguments)
	roots.Fields["secrets"] = value.Field{Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.String}}}
	return roots
}

func (c *compiler) checkSecrets(slots [][]string, allowed bool, path ...any) bool {
	ok := true
	for _, slot := range slots {
		if slot[0] != "secrets" {
			continue
		}
		if len(slot) != 2 {
			c.mistakes.Errorf(c.at(path...), "secret-slot", "a secret is named as ${secrets.NAME}")
			ok = false
			continue
		}
		name := slot[1]
		exists, mine := false, false
		if c.Secrets != nil {
			exists, mine = c.Secrets.Declared(name, c.Tool.Name, "")
		}
		switch {
		case !allowed:
			c.mistakes.Errorf(c.at(path...), "secret-shown", "secret %q would be readable by every user of the machine here", name).
				Hinted("give it to the program in env or stdin")
		case !exists:
			c.mistakes.Errorf(c.at(path...), "unknown-secret", "no secret %q is declared", name).Hinted("add a document of kind: Secret")
		case !mine:
			c.mistakes.Errorf(c.at(path...), "secret-not-for", "secret %q is not for tool %q", name, c.Tool.Name).
				Hinted("list the tool under for.tools of the secret")
		default:
			continue
		}
		ok = false
	}
	return ok
}

// digest sums a value that is bound but not shown.
func (k *kind) digest(text string) string {
	mac := hmac.New(sha256.New, k.Key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (c *compiler) codes() {
	c.out.success = []int{0}
	if c.block.SuccessCodes != nil {
		c.out.success = slices.Clone(c.block.SuccessCodes)
	}
	if len(c.out.success) == 0 {
		c.mistakes.Errorf(c.at("success_codes"), "success-codes", "success_codes lists nothing, so no call could succeed")
	}
	for i, code := range c.out.success {
		if code < 0 || code > 255 {
			c.mistakes.Errorf(c.at("success_codes", i), "success-codes", "%d is no exit code: they are 0 to 255", code)
		}
	}
}

func hasNUL(text string) bool { return strings.IndexByte(text, 0) >= 0 }
