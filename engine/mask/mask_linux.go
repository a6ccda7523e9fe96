package mask

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Mask is a set of runners. It is safe for concurrent use.
type Mask struct {
	options Options
	why     string // why nothing is masked
	warning string // why what is masked is not enough
	mu      sync.Mutex
	closed  bool
	runners map[string]*entry
}

// entry is one runner, started when it is first needed.
type entry struct {
	mu     sync.Mutex
	runner *runner
}

// Start builds the mask and tries it out from inside. It always returns a
// Mask; Status says what became of it. The caller must run Enter first thing
// in its own main, because the runner is the same binary.
func Start(options Options) *Mask {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.Homes = homes(options.Homes)
	m := &Mask{options: options, runners: map[string]*entry{}}
	if slices.ContainsFunc(options.Roots, func(r string) bool { return filepath.Clean(r) == "/" }) {
		m.why = "a root is the folder /, which would uncover everything; declare smaller roots"
		return m
	}
	if err := m.verify(); err != nil {
		m.why = err.Error()
		m.Close()
		return m
	}
	m.warning = uncovered(options)
	return m
}

// Available reports whether Start of a program can be used.
func (m *Mask) Available() bool { return m.why == "" }

// Status reports whether programs are kept from answering for an approver, or
// else why not. A mask may be available and still not be enough.
func (m *Mask) Status() (ok bool, why string) {
	if m.why != "" {
		return false, m.why
	}
	return m.warning == "", m.warning
}

// Start starts a program behind the mask. Visible lists what of the hidden
// places it may read, beside the roots; "~/" is the first home.
func (m *Mask) Start(visible []string, p Program) (Link, error) {
	if m.why != "" {
		return -1, errors.New(m.why)
	}
	visible = m.expand(visible)
	m.mu.Lock()
	key := strings.Join(visible, "\x00")
	e := m.runners[key]
	if e == nil {
		e = &entry{}
		m.runners[key] = e
	}
	m.mu.Unlock()
	for attempt := 0; ; attempt++ {
		r, err := m.ready(e, visible)
		if err != nil {
			return -1, err
		}
		link, err := r.start(p)
		if err == nil || attempt > 0 || !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return link, err
		}
		r.close() // it is going, and another can be started when it is gone
	}
}

func (m *Mask) expand(visible []string) []string {
	out := make([]string, 0, len(visible))
	for _, path := range visible {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && len(m.options.Homes) > 0 {
			path = filepath.Join(m.options.Homes[0], rest)
		}
		out = append(out, filepath.Clean(path))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ready gives the runner of an entry, a new one when the last has ended.
func (m *Mask) ready(e *entry, visible []string) (*runner, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runner != nil && !e.runner.ended() {
		return e.runner, nil
	}
	if e.runner != nil {
		m.options.Log.Warn("the process that starts programs behind the mask ended and is started again")
		e.runner.close()
	}
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return nil, errors.New("the mask is closed")
	}
	r, err := newRunner(m.options, visible)
	if err != nil {
		return nil, fmt.Errorf("mask: %w", err)
	}
	for _, note := range r.notes {
		m.options.Log.Warn("mask: " + note)
	}
	e.runner = r
	return r, nil
}

// Close ends every runner, and with it every program behind the mask.
func (m *Mask) Close() {
	m.mu.Lock()
	m.closed = true
	entries := m.runners
	m.runners = map[string]*entry{}
	m.mu.Unlock()
	for _, e := range entries {
		e.mu.Lock()
		if e.runner != nil {
			e.runner.close()
			e.runner = nil
		}
		e.mu.Unlock()
	}
}

// homes are the given ones, or those of this user by both names that a shell
// could use. Root can read everybody's.
func homes(given []string) []string {
	out := slices.Clone(given)
	if len(out) == 0 {
		if home, err := os.UserHomeDir(); err == nil {
			out = append(out, home)
		}
		if me, err := user.Current(); err == nil {
			out = append(out, me.HomeDir)
		}
	}
	if os.Geteuid() == 0 {
		out = append(out, "/root", "/home")
	}
	return slices.DeleteFunc(out, func(path string) bool { return !filepath.IsAbs(path) || filepath.Clean(path) == "/" })
}

// uncovered says which root gives back what the mask should hide.
func uncovered(options Options) string {
	for _, root := range options.Roots {
		for _, hidden := range append(private(), options.Homes...) {
			if within(resolved(hidden), resolved(root)) {
				return fmt.Sprintf("root %s contains %s, so programs could change what runs there; declare a smaller root", root, hidden)
			}
		}
	}
	return ""
}

// private are the places where processes of one user meet.
func private() []string { return []string{"/run", "/tmp", "/var/tmp"} }

// within reports whether path is folder or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
