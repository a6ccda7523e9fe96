//go:build unix && !linux && !darwin

package control

// peer is not known on this system, so every connection is refused.
func peer(int) (int, error) { return -1, ErrUnavailable }
