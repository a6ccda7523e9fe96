package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// Value is one secret value. However it is printed, logged or encoded, it
// shows its name only. The text is behind a pointer, so that printing a
// struct that holds a Value in a private field shows an address.
type Value struct {
	name string
	text *string
}

// Reveal returns the text itself, or "" of the zero Value.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// String returns "[redacted NAME]".
func (v Value) String() string { return marker(v.name) }

// Format prints the marker whatever the verb.
func (v Value) Format(f fmt.State, _ rune) { fmt.Fprint(f, marker(v.name)) }

// MarshalJSON writes the marker.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(marker(v.name)) }

// MarshalText writes the marker.
func (v Value) MarshalText() ([]byte, error) { return []byte(marker(v.name)), nil }

// LogValue logs the marker.
func (v Value) LogValue() slog.Value { return slog.StringValue(marker(v.name)) }

func marker(name string) string { return "[redacted " + name + "]" }

// String names the secrets of the vault.
func (v *Vault) String() string { return "secrets " + strings.Join(v.Names(), ", ") }
