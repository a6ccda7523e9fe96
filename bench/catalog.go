package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/load"
)

// Goals of a catalog of 1,000 tools and 1,000 rules. Where they were set,
// yaml.v3 took 72 ms for the files alone, and a bare server of the SDK 11 ms
// from its start to its first answer.
const (
	manyTools     = 1000
	fewTools      = 10
	coldGoal      = 500 * time.Millisecond
	coldParseGoal = 500.0 / 72
	firstGoal     = 50 * time.Millisecond
	firstBareGoal = 50.0 / 11
	editGoal      = 10 * time.Millisecond
	editParseGoal = 10.0 / 72
	heapGoal      = 1.05
	settleWindow  = 50 * time.Millisecond
)

func catalogs(b *bench) error {
	many, err := b.configuration(manyTools)
	if err != nil {
		return err
	}
	few, err := b.configuration(fewTools)
	if err != nil {
		return err
	}
	if _, err := b.binary(); err != nil { // not to be timed
		return err
	}
	parse := parseAll(many)
	figures, err := turns(b.rounds(), b.cold(many, manyTools), parse, b.cold(few, fewTools), b.coldBare)
	if err != nil {
		return err
	}
	b.duration("start to the first list of 1,000 tools", median(figures[0]), coldGoal)
	b.note("yaml.v3 parse of the same files", "%s", show(median(figures[1])))
	b.atMost("start with 1,000 tools by that parse", ratio(figures[0], figures[1]), coldParseGoal)
	b.duration("start to the first list of 10 tools", median(figures[2]), firstGoal)
	b.note("start of a bare server to its first list", "%s", show(median(figures[3])))
	b.atMost("start with 10 tools by a bare server", ratio(figures[2], figures[3]), firstBareGoal)
	return b.edits(many, parse)
}

// cold is from the start of the binary to the whole list of its tools.
func (b *bench) cold(configuration string, tools int) way {
	return func() (time.Duration, error) {
		begin := time.Now()
		p, _, err := b.serve(configuration)
		if err != nil {
			return 0, err
		}
		passed, err := firstList(p, begin, tools)
		if err != nil {
			_ = p.kill()
			return 0, err
		}
		return passed, p.stop()
	}
}

// coldBare is the same of a bare server.
func (b *bench) coldBare() (time.Duration, error) {
	begin := time.Now()
	p, err := b.startChild(bareServer, `{"type":"object","properties":{"path":{"type":"string"}}}`)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.kill() }()
	return firstList(p, begin, 1)
}

// firstList waits for the list, with at least so many tools.
func firstList(p *process, begin time.Time, tools int) (time.Duration, error) {
	c, err := connect(p)
	if err != nil {
		return 0, err
	}
	defer c.close()
	list, err := c.list()
	passed := time.Since(begin)
	if err == nil && len(list) < tools {
		err = fmt.Errorf("the server lists %d tools, and not %d", len(list), tools)
	}
	return passed, err
}

// edits measures, with the running binary, how long after the settle window a
// changed file is in force. The window begins with the change itself, so what
// is measured includes the first look at the files.
func (b *bench) edits(configuration string, parse way) error {
	count := 60
	if b.short {
		count = 15
	}
	p, _, err := b.serve(configuration)
	if err != nil {
		return err
	}
	defer func() { _ = p.kill() }()
	var n int
	edit := func() (time.Duration, error) {
		n++
		return b.edit(p, configuration, n)
	}
	if _, err := edit(); err != nil { // the first also finds the watcher settled
		return err
	}
	figures, err := turns(count, edit, parse)
	if err != nil {
		return err
	}
	b.duration("a changed file in force, after the settle window, p99", quantile(figures[0], 0.99), editGoal)
	b.duration("the same, p50", median(figures[0]), editGoal)
	b.atMost("p50 by a yaml.v3 parse of all files", ratio(figures[0], figures[1]), editParseGoal)
	return nil
}

// inForce is what the server logs after a generation is published.
const inForce = "generation is in force"

// edit replaces a file, as editors do, and waits for the new generation.
func (b *bench) edit(p *process, configuration string, n int) (time.Duration, error) {
	text := strings.Replace(tool(n), "Does what", fmt.Sprintf("Since edit %d does what", n), 1)
	path := filepath.Join(configuration, "tools.d", fmt.Sprintf("tool_%d.yaml", n))
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return 0, fmt.Errorf("edit a file: %w", err)
	}
	for len(p.lines) > 0 {
		<-p.lines
	}
	begin := time.Now()
	if err := os.Rename(path+".new", path); err != nil {
		return 0, fmt.Errorf("edit a file: %w", err)
	}
	late := time.After(startWithin)
	for {
		select {
		case line := <-p.lines:
			if strings.Contains(line, inForce) {
				return time.Since(begin) - settleWindow, nil
			}
		case <-late:
			return 0, fmt.Errorf("an edit did not come into force:\n%s", p.said())
		case <-b.Done():
			return 0, b.Err()
		}
	}
}

// heaps measures the heap of this process after many reloads.
func heaps(b *bench) error {
	configuration, err := b.configuration(manyTools)
	if err != nil {
		return err
	}
	count := 1000
	if b.short {
		count = 100
	}
	loader, err := load.New()
	if err != nil {
		return err
	}
	compiler, inputs, err := b.compiler()
	if err != nil {
		return err
	}
	var live catalog.Live
	var cache *load.Cache
	reload := func(n int) error {
		n %= manyTools
		path := filepath.Join(configuration, "tools.d", fmt.Sprintf("tool_%d.yaml", n))
		text := strings.Replace(tool(n), "Does what", fmt.Sprintf("At %d does what", time.Now().UnixNano()), 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("edit a file: %w", err)
		}
		result := loader.Load(b, load.Options{
			Paths:    []string{filepath.Join(configuration, "tools.d"), filepath.Join(configuration, "policies")},
			Previous: cache, Now: time.Now,
		})
		cache = result.Cache
		generation, problems := compiler.Compile(result.Set, inputs)
		if problems = slices.Concat(result.Problems, problems); generation == nil || problems.HasErrors() {
			return fmt.Errorf("reload: %w", problems.Err())
		}
		live.Publish(generation)
		return nil
	}
	var times []time.Duration
	var first uint64
	for n := range count + 1 {
		begin := time.Now()
		if err := reload(n); err != nil {
			return err
		}
		if n == 0 {
			first = heap()
			continue
		}
		times = append(times, time.Since(begin))
	}
	b.note(fmt.Sprintf("a reload in this process, %d times", count), "p50 %s, p99 %s", show(median(times)), show(quantile(times, 0.99)))
	b.note("heap after the first", "%.1f MiB", mebi(int64(first)))
	growth := float64(heap()) / float64(first)
	b.holds(fmt.Sprintf("heap after %d by the first", count), fmt.Sprintf("%.3f", growth), fmt.Sprintf("at most %.2f", heapGoal), growth <= heapGoal)
	for _, kept := range []any{cache, compiler, &live} { // as the binary keeps them
		runtime.KeepAlive(kept)
	}
	return nil
}

// heap is what is alive.
func heap() uint64 {
	for range 3 {
		runtime.GC() // finalizers and pools give up theirs only later
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
