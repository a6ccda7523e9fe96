//go:build !linux && !darwin

package load

import "github.com/writ-dev/writ/engine/diag"

// exposed has nothing to tell: who can write a file is not a matter of mode
// bits on this system.
func (s *search) exposed() diag.List { return nil }
