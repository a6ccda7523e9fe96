//go:build !unix

package main

import "os"

// hangupSignals is empty: this system has none that ask for a reload.
func hangupSignals() []os.Signal { return nil }
