package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// garbage is how much a serving process may allocate between two collections.
// Most of a call's cost is garbage of the protocol library, so fewer
// collections make it twice as fast; more than this gains little (measured at
// 32 clients) and would show as memory in use.
const garbage = 48 << 20

// How collections are spaced until the weight of the catalog is known, and for
// how long.
const (
	startPercent = 400
	startTime    = 2 * time.Second
)

// tuneMemory keeps collections rare, whatever the catalog weighs, and gives
// back what loading it has used. Whoever sets GOGC or GOMEMLIMIT knows better.
func (a *app) tuneMemory(ctx context.Context, e *engine) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := a.environment(name); set {
			return
		}
	}
	debug.SetGCPercent(startPercent)
	changes, cancel := e.live.Subscribe()
	defer cancel()
	for wait := time.NewTimer(startTime); ; {
		select {
		case <-wait.C: // the first clients are not to wait for a collection
		case <-changes:
		case <-ctx.Done():
			return
		}
		debug.FreeOSMemory()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		debug.SetGCPercent(max(100, garbage*100/int(max(memory.HeapAlloc, 1<<20))))
	}
}
