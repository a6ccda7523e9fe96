package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/value"
)

// KeySize is the length of the secret of a Key, in bytes.
const KeySize = 32

// Key makes digests that nobody without it can make: arguments are often short
// enough to be guessed from a plain sum. The same input gives the same digest
// for as long as the state directory lives, so records can be compared.
type Key struct{ secret [KeySize]byte }

// NewKey makes a key of KeySize secret bytes.
func NewKey(secret []byte) (Key, error) {
	var k Key
	if len(secret) != KeySize {
		return k, fmt.Errorf("digest key has %d bytes, not %d", len(secret), KeySize)
	}
	copy(k.secret[:], secret)
	return k, nil
}

// Arguments digests canonical arguments.
func (k Key) Arguments(arguments map[string]any) string {
	return k.sum("arguments", value.JSON(arguments))
}

// Effect digests the digest of an effect.
func (k Key) Effect(digest call.Digest) string { return k.sum("effect", digest[:]) }

// Session digests the id of a session, which may serve as a credential. No
// session has no digest.
func (k Key) Session(id string) string {
	if id == "" {
		return ""
	}
	return k.sum("session", []byte(id))
}

// String and GoString keep the secret out of logs.
func (Key) String() string   { return "audit.Key" }
func (Key) GoString() string { return "audit.Key" }

func (k Key) sum(purpose string, data []byte) string {
	mac := hmac.New(sha256.New, k.secret[:])
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}
