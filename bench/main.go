// Command bench answers one question: is Writ as fast and as small as it set
// out to be, on this machine and now?
//
// Every figure that can fail is a ratio: two ways of doing the same work take
// turns in one run, and the median of the ratios of the turns is held against
// a goal. Machines are noisy, so it fails only when it misses the goal by more
// than the slack; both numbers are printed. Times are printed beside a parse of
// YAML, a run of Expr and an fsync of the same run, and never fail. Sizes are
// compared as they are. The command builds the binary that it measures, keeps
// everything in a temporary folder, and needs nothing but Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
)

// errMissed is that a figure missed its goal by more than the slack.
var errMissed = errors.New("missed a goal")

// section is one question, with its figures.
type section struct {
	name, about string
	run         func(*bench) error
}

func sections() []section {
	return []section{
		{"floors", "what the machine does alone, for comparison with the times below", floors},
		{"rules", "decoding, assessing and deciding one call, in memory", rules},
		{"command", "a command tool running `true`, against os/exec with drained pipes", spawning},
		{"protocol", "a gated and recorded read-only call over MCP, against a bare go-sdk server and a plain JSON echo", protocol},
		{"catalog", "1,000 tools and 1,000 rules: start and reload", catalogs},
		{"heap", "memory of many reloads", heaps},
		{"size", "the binary, and the memory of the process", sizes},
	}
}

// bench is one run.
type bench struct {
	context.Context
	report
	short  bool
	dir    string // temporary
	binary func() (string, error)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench: child:", err)
			os.Exit(2)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, errMissed):
		os.Exit(1)
	case err != nil && !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	only := flags.String("run", "", "comma-separated `SECTIONS` of "+strings.Join(names, ", "))
	profile := flags.String("cpuprofile", "", "write a CPU profile of this process to `FILE`")
	short := flags.Bool("short", false, "fewer and shorter rounds")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	wanted, err := choose(*only)
	if err != nil {
		return err
	}
	if *profile != "" {
		end, err := record(*profile)
		if err != nil {
			return err
		}
		defer end()
	}
	// The client shares the machine with the servers: its garbage is not theirs.
	debug.SetGCPercent(400)
	dir, err := os.MkdirTemp("", "writ-bench-")
	if err != nil {
		return fmt.Errorf("temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{Context: ctx, report: report{out: out}, short: *short, dir: dir}
	b.binary = sync.OnceValues(b.build)
	fmt.Fprintf(out, "%s, %s/%s, %d CPUs; a ratio fails beyond %.0f %% of its goal\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), slack*100)
	for _, s := range wanted {
		b.begin(s)
		if err := s.run(b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		b.end()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return b.conclude()
}

// record profiles until its end.
func record(path string) (end func(), err error) {
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

// choose finds the sections that were asked for; none asks for all.
func choose(only string) ([]section, error) {
	if only == "" {
		return sections(), nil
	}
	var wanted []section
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, s := range sections() {
			if s.name == name {
				wanted, found = append(wanted, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no section %q: see -help", name)
		}
	}
	return wanted, nil
}

// rounds is how often the ways take turns; at least five.
func (b *bench) rounds() int {
	if b.short {
		return 5
	}
	return 9
}

// build makes the binary as `make build` does.
func (b *bench) build() (string, error) {
	path := filepath.Join(b.dir, "writ")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	c := exec.CommandContext(b, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/writ-dev/writ/cmd/writ")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}

// folder makes a folder of its own below the temporary one.
func (b *bench) folder() (string, error) {
	dir, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		return "", fmt.Errorf("temporary folder: %w", err)
	}
	return dir, nil
}
