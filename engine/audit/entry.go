package audit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kind says what an entry of the chain tells.
type Kind string

// The kinds. A record gives one entry or two: what was known before execution
// and what became of it, or the first of identical refusals and their number.
// The last three are marks: signed, and of the process instead of a call.
const (
	KindIntent      Kind = "intent"
	KindOutcome     Kind = "outcome"
	KindRefusal     Kind = "refusal"
	KindInterrupted Kind = "interrupted"
	KindStart       Kind = "start"
	KindStop        Kind = "stop"
	KindCheckpoint  Kind = "checkpoint"
)

// Mark reports whether entries of the kind are signed marks.
func (k Kind) Mark() bool { return k == KindStart || k == KindStop || k == KindCheckpoint }

// KindOf is the kind of the newest entry of a record.
func KindOf(phase Phase, result Result) Kind {
	if phase == Outcome && result == Refused {
		return KindRefusal
	}
	return Kind(phase)
}

// Entry is one link of the chain, and one line of an export.
type Entry struct {
	Position int64 `json:"position"`
	Kind     Kind  `json:"kind"`
	// Sequence is the number of the record, or of a mark the highest number
	// given out before it.
	Sequence int64 `json:"sequence"`
	Digest   Hash  `json:"digest"` // of Event
	Hash     Hash  `json:"hash"`   // see Head.Next
	// Event is canonical JSON. It is missing where the same record was
	// completed later: then only the digest is kept.
	Event json.RawMessage `json:"event,omitempty"`
	// Signature and Key are those of a mark.
	Signature Signature `json:"signature,omitempty"`
	Key       Signature `json:"key,omitempty"`
}

// Signature is a signature or a public key; as text it is hexadecimal.
type Signature []byte

func (s Signature) String() string { return hex.EncodeToString(s) }

// MarshalText writes the digits.
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the digits.
func (s *Signature) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	*s = data
	return err
}

// DigestOf is the digest of an event.
func DigestOf(event []byte) Hash { return sha256.Sum256(event) }

// Sign signs a head with the key of a state folder.
func Sign(key ed25519.PrivateKey, head Head) Signature { return ed25519.Sign(key, signed(head)) }

// Signed reports whether the signature of the mark at head is by key.
func Signed(key Signature, head Head, signature Signature) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(ed25519.PublicKey(key), signed(head), signature)
}

func signed(head Head) []byte { return []byte("writ audit checkpoint " + head.String()) }
