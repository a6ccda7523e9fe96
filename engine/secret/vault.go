// Package secret answers two questions: what is the value of a secret, and who
// may use it?
//
// New reads every Secret document once, when a generation is built: a value
// comes from the server's environment or from a file beside the document, and
// stays the same until the next generation. A secret that is not there is no
// mistake of the configuration: tools that need it are unavailable, with its
// name. Values are kept in an opaque type that prints and encodes as
// "[redacted NAME]", and are cut out of text and streams, also where they are
// written in base64, hexadecimal, percent-encoding or JSON. The package never
// logs, never writes a file, and puts no value into an error.
package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/value"
)

// A value must have at least MinBytes, or cutting it out of text would cut
// everything, and at most MaxBytes.
const (
	MinBytes = 4
	MaxBytes = 16 << 10
)

// ErrMissing is wrapped by every error about a secret that is declared but has
// no value at present.
var ErrMissing = errors.New("has no value")

// Options is what New works with.
type Options struct {
	// Env reads a variable of the server's environment.
	Env func(name string) (string, bool)
	// ReadFile reads a file with its permission bits; nil means ReadFile of
	// this package.
	ReadFile func(path string) ([]byte, fs.FileMode, error)
	// Key makes digests comparable within one state folder and useless
	// anywhere else: 32 random bytes, the same for all generations.
	Key []byte
	// Also holds values that no document declares and that are cut out
	// nevertheless, by name, such as the caller token (S-11). Nobody can use
	// them by name.
	Also map[string]string
}

// Vault holds the secrets of one generation. It is immutable and used by many
// calls at once.
type Vault struct {
	entries map[string]entry
	key     []byte
	needles *automaton // nil when nothing is to be cut out
	files   []string
}

type entry struct {
	document *document.Secret
	value    Value
	missing  string // why there is no value, or ""
}

var (
	_ executor.Secrets  = (*Vault)(nil)
	_ executor.Digester = (*Vault)(nil)
)

// New reads all secrets. Mistakes are a document that names both or neither of
// env and file or nobody who may use it, a file that others can read or
// that group or others can write, and a value that is too short, too long or holds a NUL.
func New(documents []*document.Secret, options Options) (*Vault, diag.List) {
	if options.ReadFile == nil {
		options.ReadFile = ReadFile
	}
	vault := &Vault{entries: map[string]entry{}, key: slices.Clone(options.Key)}
	var mistakes diag.List
	values := map[string]string{}
	for _, d := range documents {
		e := entry{document: d}
		text, missing := vault.read(d, options, &mistakes)
		if e.missing = missing; missing == "" {
			e.value = Value{name: d.Name, text: &text}
			values[d.Name] = text
		}
		vault.entries[d.Name] = e
	}
	for name, text := range options.Also {
		if _, declared := values[name]; !declared && len(text) >= MinBytes {
			values[name] = text
		}
	}
	vault.needles = compile(values)
	return vault, mistakes
}

// read returns a value, or why there is none. Mistakes also count as missing,
// so that no tool can run with a value that was refused.
func (v *Vault) read(d *document.Secret, options Options, mistakes *diag.List) (text, missing string) {
	const refused = "was refused when the configuration was loaded"
	at := d.Source.Key()
	if (d.Env == "") == (d.File == "") {
		mistakes.Errorf(at, "secret-source", "secret %q needs exactly one of env and file", d.Name)
		return "", refused
	}
	if len(d.For.Connections)+len(d.For.Tools) == 0 {
		mistakes.Errorf(at, "secret-for", "secret %q names nobody who may use it", d.Name).
			Hinted("write for: {tools: [NAME]} or for: {connections: [NAME]}")
	}
	if d.Env != "" {
		at = d.Source.At("env")
		found, ok := options.Env(d.Env)
		if !ok || found == "" {
			return "", "the variable " + d.Env + " is not set in the server's environment"
		}
		text = found
	} else {
		at = d.Source.At("file")
		found, reason := v.readFile(d, at, options, mistakes)
		if reason != "" {
			return "", reason
		}
		text = found
	}
	if problem := unfit(text); problem != "" {
		mistakes.Errorf(at, "secret-value", "the value of secret %q %s", d.Name, problem)
		return "", refused
	}
	return text, ""
}

func (v *Vault) readFile(d *document.Secret, at diag.Position, options Options, mistakes *diag.List) (text, missing string) {
	path := d.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.Source.Start().File), filepath.FromSlash(path))
	}
	v.files = append(v.files, path)
	data, mode, err := options.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "the file " + d.File + " is not there"
	case errors.Is(err, errTooLong):
		mistakes.Errorf(at, "secret-value", "the file of secret %q is larger than %d bytes", d.Name, MaxBytes)
		return "", "its file is too large"
	case err != nil:
		return "", "the file " + d.File + " cannot be read"
	case mode.Perm()&0o026 != 0:
		mistakes.Errorf(at, "secret-mode", "the file of secret %q has mode %04o: others can read it, or group or others can write it", d.Name, mode.Perm()).
			Hinted("chmod 600 %s", d.File)
		return "", "its file can be read or written by others"
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", "the file " + d.File + " is empty"
	}
	return text, ""
}

func unfit(text string) string {
	switch {
	case len(text) < MinBytes:
		return fmt.Sprintf("has fewer than %d bytes and cannot be kept out of output", MinBytes)
	case len(text) > MaxBytes:
		return fmt.Sprintf("has more than %d bytes", MaxBytes)
	case strings.Contains(text, "\x00"):
		return "holds a NUL byte"
	}
	return ""
}

// Declared reports whether a secret of this name exists and whether the tool
// or the connection, either of which may be "", may use it.
func (v *Vault) Declared(name, tool, connection string) (exists, allowed bool) {
	e, exists := v.entries[name]
	if !exists {
		return false, false
	}
	return true, tool != "" && slices.Contains(e.document.For.Tools, tool) ||
		connection != "" && slices.Contains(e.document.For.Connections, connection)
}

// Value reads a secret. The error wraps ErrMissing and names the secret only.
func (v *Vault) Value(name string) (string, error) {
	e, ok := v.entries[name]
	if !ok || e.missing != "" {
		return "", fmt.Errorf("secret %q %w", name, ErrMissing)
	}
	return e.value.Reveal(), nil
}

// Opaque returns a secret in the form that is safe to keep and to print.
func (v *Vault) Opaque(name string) (Value, bool) {
	e, ok := v.entries[name]
	return e.value, ok && e.missing == ""
}

// Missing says why a declared secret has no value, for whoever runs the
// server, or "" when it has one. An unknown name is missing.
func (v *Vault) Missing(name string) string {
	e, ok := v.entries[name]
	if !ok {
		return "no such secret is declared"
	}
	return e.missing
}

// Names lists the declared secrets in order.
func (v *Vault) Names() []string { return value.Keys(v.entries) }

// Files lists the files that secrets were, or would have been, read from. A
// change of one of them calls for a new generation.
func (v *Vault) Files() []string { return slices.Clone(v.files) }

// Digest identifies the value of a secret to this installation and says
// nothing of it to anybody without the key: HMAC-SHA-256 in hexadecimal. The
// name is part of it, so two secrets of one value differ.
func (v *Vault) Digest(name string) (string, error) {
	text, err := v.Value(name)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, v.key)
	mac.Write([]byte(name))
	mac.Write([]byte{0})
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// Redact replaces every value of a secret in a text by "[redacted NAME]".
func (v *Vault) Redact(text string) string {
	if v.needles == nil || !v.needles.mayMatch(text) {
		return text
	}
	s := &stream{automaton: v.needles}
	out := append([]byte(nil), s.Write([]byte(text))...)
	return string(append(out, s.Flush()...))
}

// Stream returns a new stream that redacts as Redact does, wherever the
// text is cut into pieces. A returned slice is valid until the next Write.
func (v *Vault) Stream() executor.Stream {
	if v.needles == nil {
		return passThrough{}
	}
	return &stream{automaton: v.needles}
}
