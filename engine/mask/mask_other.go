//go:build !linux

package mask

import "errors"

// Mask cannot be built on this system.
type Mask struct{}

const unavailable = "this system has no namespaces that could hide Writ's files from programs"

// Start returns a mask that says why there is none.
func Start(Options) *Mask { return &Mask{} }

// Available is always false here.
func (*Mask) Available() bool { return false }

// Status says why nothing is hidden.
func (*Mask) Status() (ok bool, why string) { return false, unavailable }

// Start always fails here.
func (*Mask) Start([]string, Program) (Link, error) { return -1, errors.New(unavailable) }

// Close has nothing to end.
func (*Mask) Close() {}

// Enter is for the runner's own process, of which there is none here.
func Enter() {}
