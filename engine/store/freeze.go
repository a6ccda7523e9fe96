package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// frozenName is the file whose presence refuses every call. It survives a
// restart because it is a file.
const frozenName = "frozen"

// maxFreezeReason bounds the reason, in bytes.
const maxFreezeReason = 500

// Freeze refuses every call from now on, whoever opens the folder, until Thaw.
func (d Dir) Freeze(reason string) error {
	if len(reason) > maxFreezeReason {
		reason = strings.ToValidUTF8(reason[:maxFreezeReason], "")
	}
	return d.ReplaceSecret(frozenName, []byte(reason+"\n"))
}

// Thaw ends a freeze. Without one it does nothing.
func (d Dir) Thaw() error {
	err := os.Remove(d.join(frozenName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("thaw: %w", err)
	}
	return nil
}

// Frozen reports whether calls are frozen, and why. What cannot be read counts
// as frozen.
func (d Dir) Frozen() (reason string, frozen bool) {
	text, err := os.ReadFile(d.join(frozenName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false
	case err != nil:
		return "the state folder does not say whether calls are frozen", true
	}
	return strings.TrimSpace(string(text)), true
}
