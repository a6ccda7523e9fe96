//go:build unix

package main

import (
	"os"
	"syscall"
)

// hangupSignals ask for a reload.
func hangupSignals() []os.Signal { return []os.Signal{syscall.SIGHUP} }
