package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Goals of sizes.
const (
	binaryGoal = 40_000_000 // bytes
	idleGoal   = 60 << 20
	loadGoal   = 160 << 20
	// idleAfter is how long the server has had nothing to do.
	idleAfter = 3 * time.Second
)

func sizes(b *bench) error {
	path, err := b.binary()
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the binary: %w", err)
	}
	b.sizeAtMost("stripped binary", info.Size(), binaryGoal)
	many, err := b.configuration(manyTools)
	if err != nil {
		return err
	}
	p, _, err := b.serve(many)
	if err != nil {
		return err
	}
	defer func() { _ = p.kill() }()
	if _, err := firstList(p, time.Now(), manyTools); err != nil {
		return err
	}
	select {
	case <-time.After(idleAfter):
	case <-b.Done():
	}
	idle, ok := p.memory()
	if !ok {
		b.note("memory", "unavailable on this system")
		return nil
	}
	b.sizeAtMost("idle memory with 1,000 tools", idle, idleGoal)
	return b.loaded()
}

// loaded is the most memory under the load of 32 clients.
func (b *bench) loaded() error {
	dir, err := b.noteConfiguration(readNote)
	if err != nil {
		return err
	}
	p, _, err := b.serve(dir)
	if err != nil {
		return err
	}
	t := newTarget("writ", p, connect)
	defer func() {
		t.end()
		_ = p.kill()
	}()
	watching, end := context.WithCancel(b)
	defer end()
	most := p.watchMemory(watching)
	length := 5 * time.Second
	if b.short {
		length = time.Second
	}
	if err := t.load(b, manyClients, length); err != nil {
		return err
	}
	end()
	b.sizeAtMost(fmt.Sprintf("most memory under %d clients", manyClients), most(), loadGoal)
	return nil
}
