package identity

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Lengths of a token, in bytes (contract S-11, S-12). A generated one is
// generatedBytes in hexadecimal.
const (
	MinToken       = 32
	MaxToken       = 256
	generatedBytes = 32
)

// Source says where the token of the caller default comes from.
type Source string

// The sources, strongest first.
const (
	FromEnvironment Source = "environment"
	FromFile        Source = "writ.yaml"
	Generated       Source = "generated"
)

// NewToken makes a token of random bytes.
func NewToken(random io.Reader) (string, error) {
	var secret [generatedBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return hex.EncodeToString(secret[:]), nil
}

// CheckToken refuses what is not a token: 32 to 256 printable ASCII characters
// without spaces. The error never shows it.
func CheckToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	if len(token) < MinToken || len(token) > MaxToken {
		return fmt.Errorf("the token has %d characters: use %d to %d", len(token), MinToken, MaxToken)
	}
	for _, b := range []byte(token) {
		if b <= ' ' || b > '~' {
			return errors.New("the token has a character that is not printable ASCII, or a space")
		}
	}
	return nil
}
