package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Hash is a SHA-256 sum. As text it is 64 lower-case hexadecimal digits.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the digits.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Head is the end of the chain: how many entries it has and the hash of the
// last one. Whoever keeps a head can prove later that nothing up to it was
// changed or cut off. No entry has the zero Head.
type Head struct {
	Count int64 `json:"count"`
	Hash  Hash  `json:"hash"`
}

// String is COUNT:HASH, as ParseHead reads it.
func (h Head) String() string { return strconv.FormatInt(h.Count, 10) + ":" + h.Hash.String() }

// ParseHead reads what String wrote.
func ParseHead(text string) (Head, error) {
	var h Head
	count, hash, found := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !found || err != nil || n < 1 {
		return h, errors.New("a head is COUNT:HASH, as writ prints it at start and stop")
	}
	if err := h.Hash.UnmarshalText([]byte(hash)); err != nil {
		return h, fmt.Errorf("head %d: %w", n, err)
	}
	h.Count = n
	return h, nil
}

// Next is the head after one more entry: its hash is the SHA-256 sum of the
// hash before and of the canonical JSON that binds the position, the number of
// the record and the digest of the event.
func (h Head) Next(sequence int64, digest Hash) Head {
	const most = sha256.Size + 2*sha256.Size + 100
	link := make([]byte, 0, most)
	link = append(link, h.Hash[:]...)
	link = append(link, `{"digest":"`...)
	link = hex.AppendEncode(link, digest[:])
	link = append(link, `","position":`...)
	link = strconv.AppendInt(link, h.Count+1, 10)
	link = append(link, `,"sequence":`...)
	link = strconv.AppendInt(link, sequence, 10)
	link = append(link, '}')
	return Head{Count: h.Count + 1, Hash: sha256.Sum256(link)}
}
