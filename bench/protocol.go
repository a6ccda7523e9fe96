package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the store's database is read back
)

// Goals of calls by time, by those of a bare server of the SDK.
const (
	manyClients = 32
	manyGoal    = 1.3
	oneGoal     = 0.8
)

// The ends of the tool: it reads one file of one byte, or does nothing.
const (
	readNote = `  path: {type: string, format: path, under: [work], maxLength: 200}
file: {read: "${args.path}"}
`
	doNothing = `  path: {type: string, maxLength: 200}
command: {argv: [nothing, "${args.path}"]}
`
)

// noteConfiguration declares the tool. Admission is raised because all clients
// are one caller.
func (b *bench) noteConfiguration(end string) (string, error) {
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	return dir, write(dir, map[string]string{
		"work/note.txt": noteText,
		"writ.yaml":     "version: 1\ndocuments: [tools.d, policies]\nroots: {work: ./work}\nlimits: {calls_per_principal: 64}\n",
		"tools.d/read_note.yaml": `kind: Tool
name: ` + noteTool + `
description: Reads a note.
group: group_0
risk: read_only
args:
  limit: {type: integer, minimum: 1, maximum: 1000, default: 10}
  mode: {type: string, enum: [plain, short], default: plain}
` + end,
		"policies/rules.yaml": groupRules(0),
	})
}

// target is a server under load, and what came of it.
type target struct {
	name    string
	process *process
	state   string // the folder with its records, or ""
	open    func(*process) (*client, error)
	clients []*client
	figures map[int]*figures // by number of clients
	records []string
	answers int
}

type figures struct {
	rates     []float64 // calls a second, of each round
	latencies []time.Duration
}

func protocol(b *bench) error {
	b.note("limits", "calls_per_principal is raised to 64: all clients are one caller")
	targets, err := b.targets()
	defer func() {
		for _, t := range targets {
			t.end()
			if t.process.command.ProcessState == nil {
				_ = t.process.kill()
			}
		}
	}()
	if err != nil {
		return err
	}
	length := 700 * time.Millisecond
	if b.short {
		length = 300 * time.Millisecond
	}
	for _, clients := range []int{1, manyClients} {
		for range b.rounds() {
			for _, t := range targets {
				if err := t.load(b, clients, length); err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
			}
		}
	}
	b.compare(targets)
	for _, t := range targets {
		if t.state == "" {
			continue
		}
		t.end()
		if err := t.process.stop(); err != nil {
			return err
		}
		if err := b.recorded(t); err != nil {
			return err
		}
	}
	return nil
}

// compare holds the gated server against the bare one. Reading a file, with
// the checks of its path, is more than the bare server does.
func (b *bench) compare(targets []*target) {
	gated, bare, echo, binary := targets[0], targets[1], targets[2], targets[3]
	for _, clients := range []int{1, manyClients} {
		goal, name := oneGoal, "1 client"
		if clients == manyClients {
			goal, name = manyGoal, fmt.Sprintf("%d clients", clients)
		}
		rates := func(t *target) []float64 { return t.figures[clients].rates }
		b.atLeast("no-effect calls by the bare server, "+name, ratio(rates(gated), rates(bare)), goal)
		b.note("by the plain echo", "%.2f", ratio(rates(gated), rates(echo)))
		b.note("writ serve reading a file, by the bare server", "%.2f", ratio(rates(binary), rates(bare)))
		for _, t := range targets {
			f := t.figures[clients]
			b.note("  "+t.name, "%.0f calls/s, p50 %s, p99 %s", median(f.rates), show(quantile(f.latencies, 0.5)), show(quantile(f.latencies, 0.99)))
		}
	}
}

// targets starts Writ with a tool that does nothing, a bare server with the
// schema that Writ shows, an echo, and the binary with a tool that reads a
// file.
func (b *bench) targets() (list []*target, err error) {
	nothing, err := b.noteConfiguration(doNothing)
	if err != nil {
		return nil, err
	}
	state, err := b.folder()
	if err != nil {
		return nil, err
	}
	p, err := b.startChild(gatedServer, nothing, state)
	if err != nil {
		return nil, err
	}
	p.token = benchToken
	list = append(list, newTarget("gated", p, connect))
	list[0].state = state
	schema, err := schemaOf(p)
	if err != nil {
		return list, err
	}
	for _, c := range []struct {
		kind string
		open func(*process) (*client, error)
	}{{bareServer, connect}, {echoServer, dial}} {
		p, err := b.startChild(c.kind, schema)
		if err != nil {
			return list, err
		}
		list = append(list, newTarget(c.kind, p, c.open))
	}
	reading, err := b.noteConfiguration(readNote)
	if err != nil {
		return list, err
	}
	p, state, err = b.serve(reading)
	if err != nil {
		return list, err
	}
	list = append(list, newTarget("writ serve", p, connect))
	list[3].state = state
	for _, t := range list { // warm, and counted: these calls are recorded too
		if err := t.load(b, manyClients, 200*time.Millisecond); err != nil {
			return list, fmt.Errorf("%s: %w", t.name, err)
		}
		t.figures = map[int]*figures{}
	}
	return list, nil
}

func newTarget(name string, p *process, open func(*process) (*client, error)) *target {
	return &target{name: name, process: p, open: open, figures: map[int]*figures{}}
}

func schemaOf(p *process) (string, error) {
	c, err := connect(p)
	if err != nil {
		return "", err
	}
	defer c.close()
	tools, err := c.list()
	if err != nil {
		return "", err
	}
	for _, tool := range tools {
		if tool.Name == noteTool {
			return string(tool.InputSchema), nil
		}
	}
	return "", errors.New("the server does not list the tool")
}

// end closes what is open. It may be called twice.
func (t *target) end() {
	for _, c := range t.clients {
		c.close()
	}
	t.clients = nil
}

// load lets clients call one after the other for a while.
func (t *target) load(ctx context.Context, clients int, length time.Duration) error {
	for len(t.clients) < clients {
		c, err := t.open(t.process)
		if err != nil {
			return err
		}
		t.clients = append(t.clients, c)
	}
	begin := time.Now()
	deadline := begin.Add(length)
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var running sync.WaitGroup
	for _, c := range t.clients[:clients] {
		running.Go(func() {
			latencies, records, err := c.repeat(ctx, deadline)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, latencies...)
			t.records = append(t.records, records...)
			failed = errors.Join(failed, err)
		})
	}
	running.Wait()
	f := t.figures[clients]
	if f == nil {
		f = &figures{}
		t.figures[clients] = f
	}
	f.rates = append(f.rates, float64(len(all))/time.Since(begin).Seconds())
	f.latencies = append(f.latencies, all...)
	t.answers += len(all)
	return failed
}

func (c *client) repeat(ctx context.Context, deadline time.Time) (latencies []time.Duration, records []string, err error) {
	for now := time.Now(); now.Before(deadline) && ctx.Err() == nil; {
		record, err := c.call()
		if err != nil {
			return latencies, records, err
		}
		after := time.Now()
		latencies = append(latencies, after.Sub(now))
		if now = after; record != "" {
			records = append(records, record)
		}
	}
	return latencies, records, nil
}

// recorded checks that the store holds exactly one record of every answered
// call, and no other.
func (b *bench) recorded(t *target) error {
	path := filepath.ToSlash(filepath.Join(t.state, "writ.db"))
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: "mode=ro"}).String())
	if err != nil {
		return fmt.Errorf("open the records: %w", err)
	}
	defer db.Close()
	rows, err := db.QueryContext(b, "SELECT request_id FROM records WHERE phase = 'outcome' AND result = 'success'")
	if err != nil {
		return fmt.Errorf("read the records: %w", err)
	}
	defer rows.Close()
	left := map[string]bool{}
	for _, id := range t.records {
		left[id] = true
	}
	answered, found, strange := len(left), 0, 0
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return fmt.Errorf("read the records: %w", err)
		}
		if found++; !left[id] {
			strange++ // a second one, or of no answered call
		}
		delete(left, id)
	}
	b.holds("records of "+t.name, fmt.Sprintf("%d answered calls, %d records", t.answers, found), "exactly one for each",
		t.answers == answered && len(left) == 0 && strange == 0 && rows.Err() == nil)
	return rows.Err()
}
