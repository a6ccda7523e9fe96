package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is a server that runs beside the bench.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	address string // host:port
	token   string // or ""
	// signalled says that the end of its input does not stop it.
	signalled bool

	mu     sync.Mutex
	errors bytes.Buffer
	lines  chan string // of standard error, of those who ask for them
}

// startWithin bounds the start of a server.
const startWithin = 30 * time.Second

var served = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/mcp`)

// serve starts the binary over a configuration, with a state folder of its own.
func (b *bench) serve(configuration string) (_ *process, state string, err error) {
	binary, err := b.binary()
	if err != nil {
		return nil, "", err
	}
	if state, err = b.folder(); err != nil {
		return nil, "", err
	}
	c := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--config", configuration, "--state-dir", state)
	c.Env = append(os.Environ(), "WRIT_TOKEN="+benchToken)
	p, err := b.start(c)
	if err != nil {
		return nil, "", err
	}
	p.token, p.signalled = benchToken, true
	return p, state, nil
}

const benchToken = "a-token-of-the-bench-for-itself-alone"

// startChild starts one of the servers of this program.
func (b *bench) startChild(kind string, with ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return b.start(exec.Command(self, append([]string{childFlag, kind}, with...)...))
}

// start returns when the server has said where it listens.
func (b *bench) start(c *exec.Cmd) (*process, error) {
	p := &process{command: c, lines: make(chan string, 64)}
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	p.stdin = stdin
	stdout, err := c.StdoutPipe()
	if err == nil {
		var stderr io.ReadCloser
		if stderr, err = c.StderrPipe(); err == nil {
			err = c.Start()
			if err == nil {
				go p.watch(stderr)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			if m := served.FindStringSubmatch(scanner.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
	}()
	select {
	case address, ok := <-found:
		if ok {
			p.address = address
			return p, nil
		}
	case <-time.After(startWithin):
	case <-b.Done():
	}
	_ = p.kill()
	return nil, fmt.Errorf("the server did not start:\n%s", p.said())
}

// watch keeps what the server logs.
func (p *process) watch(stderr io.Reader) {
	scanner := bufio.NewScanner(stderr)
	for scanner.Scan() {
		p.mu.Lock()
		p.errors.WriteString(scanner.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.lines <- scanner.Text():
		default:
		}
	}
}

// maxSaid bounds what is shown of a log, in bytes.
const maxSaid = 4000

// said is the end of the log.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.errors.String()
	if len(text) > maxSaid {
		text = "…" + text[len(text)-maxSaid:]
	}
	return text
}

// stop ends the server properly and waits for it.
func (p *process) stop() error {
	_ = p.stdin.Close()
	if p.signalled {
		if err := p.command.Process.Signal(os.Interrupt); err != nil {
			return errors.Join(err, p.kill())
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the server ended badly: %w\n%s", err, p.said())
		}
		return nil
	case <-time.After(startWithin):
		return errors.Join(errors.New("the server does not stop"), p.kill())
	}
}

func (p *process) kill() error {
	_ = p.stdin.Close()
	_ = p.command.Process.Kill()
	return p.command.Wait()
}

// memory is the resident memory in bytes; ok is false where the system does
// not tell.
func (p *process) memory() (bytes int64, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kibi, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kibi << 10, err == nil
		}
	}
	return 0, false
}

// watchMemory notes the most memory until the context ends.
func (p *process) watchMemory(ctx context.Context) (most func() int64) {
	done := make(chan int64, 1)
	go func() {
		var highest int64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if now, ok := p.memory(); ok {
				highest = max(highest, now)
			}
			select {
			case <-ctx.Done():
				done <- highest
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 { return <-done }
}
