package writ_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/approval/approvaltest"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/command"
	"github.com/writ-dev/writ/engine/executor/file"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
	tlsprobe "github.com/writ-dev/writ/engine/executor/tls"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
	"github.com/writ-dev/writ/engine/verify"
)

// shipped are the documents that everybody gets.
var shipped = []string{"tools.d", "policies"}

var loadShipped = sync.OnceValue(func() load.Result { return loadFrom(shipped) })

var grammar = sync.OnceValues(load.New)

func loadFrom(paths []string) load.Result {
	loader, err := grammar()
	if err != nil {
		panic(err)
	}
	return loader.Load(context.Background(), load.Options{Paths: paths, Trusted: true})
}

// bench is the whole engine over the shipped documents, with one folder as the
// root work and the programs that path names.
type bench struct {
	t        testing.TB
	live     catalog.Live
	pipeline *pipeline.Pipeline
}

func newCompiler(path string) *catalog.Compiler {
	env := func(name string) (string, bool) {
		if name == "PATH" {
			return path, true
		}
		return os.LookupEnv(name)
	}
	guard := &network.Guard{Own: func() []netip.AddrPort { return nil }}
	return catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{
			"command": command.New(command.Options{Env: env, Key: make([]byte, 32)}),
			"http":    httpcall.New(httpcall.Options{Guard: guard, Now: time.Now}),
			"file":    file.Kind{},
			"tls":     tlsprobe.New(tlsprobe.Options{Guard: guard, Now: time.Now}),
		},
		Secrets: func(docs []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(docs, secret.Options{Env: env})
		},
		Now: time.Now,
	})
}

func newBench(t testing.TB, work, path string) *bench {
	t.Helper()
	b := &bench{t: t}
	roots, err := root.Open(map[string]string{"work": work}, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded := loadShipped()
	if err := loaded.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	generation, problems := newCompiler(path).Compile(loaded.Set, catalog.Inputs{Roots: roots})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	b.live.Publish(generation)
	key, err := audit.NewKey(make([]byte, audit.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	b.pipeline = pipeline.New(pipeline.Options{
		Live: &b.live, Desk: approval.NewDesk(time.Now, rand.Text), Journal: forgetful{}, Key: key,
		Limits: pipeline.DefaultLimits(), Now: time.Now, NewID: rand.Text, Log: slog.New(slog.DiscardHandler),
	})
	return b
}

// do calls a tool, and says yes when a person has to.
func (b *bench) do(tool string, arguments map[string]any) call.Result {
	b.t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		b.t.Fatal(err)
	}
	request := call.Request{ID: "1", Tool: tool, Arguments: text, Entry: call.EntryMCP, Principal: call.Principal{Name: "ann"}}
	result := b.pipeline.Call(b.t.Context(), request)
	if result.Code != "approval_required" {
		return result
	}
	prepared, err := b.pipeline.Prepare(b.t.Context(), request)
	if err != nil {
		return call.Result{Tool: tool, Status: call.Refused, Reason: err.Error()}
	}
	return b.pipeline.Execute(b.t.Context(), approvaltest.Approve(prepared, time.Now().Add(time.Hour)))
}

// forgetful is a journal that keeps nothing.
type forgetful struct{}

func (forgetful) Reserve(context.Context) (audit.Slot, error) { return forgetful{}, nil }
func (forgetful) Intent(context.Context, audit.Record) error  { return nil }
func (forgetful) Outcome(context.Context, audit.Record) error { return nil }
func (forgetful) Release()                                    {}

func TestShippedDocumentsAreFree(t *testing.T) {
	loaded := loadShipped()
	roots, err := root.Open(map[string]string{"work": t.TempDir()}, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := newCompiler(os.Getenv("PATH")).Compile(loaded.Set, catalog.Inputs{Roots: roots})
	for _, d := range append(loaded.Problems, problems...) {
		t.Errorf("%s: %s (%s)", d.At, d.Message, d.Hint)
	}
}

func TestShippedTestsHoldAndCoverEveryRule(t *testing.T) {
	b := newBench(t, t.TempDir(), os.Getenv("PATH"))
	report := verify.Run(t.Context(), b.live.Current())
	for _, c := range report.Cases {
		for _, difference := range c.Differences {
			t.Errorf("%s: %s: %s: %s", c.At, c.Test, c.Name, difference)
		}
	}
	for _, rule := range report.Unfired {
		t.Errorf("%s: no case fires rule %s", rule.At, rule.ID)
	}
	tested := map[string]bool{}
	for _, test := range b.live.Current().Tests {
		for _, c := range test.Cases {
			if c.Expect.Decision == "permit" || c.Expect.Decision == "require_approval" {
				tested[test.Given.Tool] = true
			}
		}
	}
	for _, tool := range b.live.Current().Tools() {
		if !tested[tool.Name] {
			t.Errorf("%s: no case calls tool %s with success", tool.Document.Source.Start(), tool.Name)
		}
	}
}

// needs skips nothing: the shipped packs are part of the product, so a machine
// that tests them has their programs.
func needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the test needs %s: %v", program, err)
		}
	}
}

func mustWrite(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// wants fails unless the call succeeded and its output has all the texts.
func wants(t *testing.T, result call.Result, texts ...string) {
	t.Helper()
	if !result.Success {
		t.Fatalf("%s: %s %s: %s\n%s", result.Tool, result.Status, result.Code, result.Reason, result.Output)
	}
	for _, text := range texts {
		if !strings.Contains(result.Output, text) {
			t.Errorf("%s: %q is not in the output:\n%s", result.Tool, text, result.Output)
		}
	}
}
