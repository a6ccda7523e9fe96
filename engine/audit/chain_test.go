package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/audit"
)

// TestHeadNext writes out what a hash is of, because others check it too.
func TestHeadNext(t *testing.T) {
	digest := audit.DigestOf([]byte("{}"))
	before := audit.Head{Count: 41, Hash: audit.DigestOf([]byte("before"))}
	link := fmt.Sprintf(`{"digest":"%s","position":42,"sequence":7}`, digest)
	want := audit.Head{Count: 42, Hash: sha256.Sum256(append(before.Hash[:], link...))}
	if got := before.Next(7, digest); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseHead(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	for _, text := range []string{"1:" + zeros, "12:" + strings.Repeat("ab", 32)} {
		if head, err := audit.ParseHead(text); err != nil || head.String() != text {
			t.Errorf("%s was read as %v, %v", text, head, err)
		}
	}
	for _, text := range []string{"", "1", zeros, ":" + zeros, "0:" + zeros, "-1:" + zeros, "1:" + zeros[1:], "1:" + zeros + "0", "1:x" + zeros[1:]} {
		if head, err := audit.ParseHead(text); err == nil {
			t.Errorf("%q was read as %v", text, head)
		}
	}
}

// TestVerifierOfLines gives the verifier lines that somebody wrote by hand.
func TestVerifierOfLines(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	chain := func(signer ed25519.PrivateKey) []audit.Entry {
		var head audit.Head
		var entries []audit.Entry
		for i, kind := range []audit.Kind{audit.KindStart, audit.KindIntent, audit.KindOutcome, audit.KindRefusal, audit.KindStop} {
			e := audit.Entry{Kind: kind, Sequence: int64(i / 2), Event: fmt.Appendf(nil, `{"n":%d}`, i)}
			e.Digest = audit.DigestOf(e.Event)
			head = head.Next(e.Sequence, e.Digest)
			e.Position, e.Hash = head.Count, head.Hash
			if kind.Mark() {
				e.Signature, e.Key = audit.Sign(signer, head), audit.Signature(signer.Public().(ed25519.PublicKey))
			}
			entries = append(entries, e)
		}
		entries[1].Event = nil // of an intent whose outcome came
		return entries
	}
	public := audit.Signature(key.Public().(ed25519.PublicKey))
	for name, tt := range map[string]struct {
		signer ed25519.PrivateKey
		change func([]audit.Entry) []audit.Entry
		want   string
	}{
		"as it was":           {key, func(e []audit.Entry) []audit.Entry { return e }, "[]"},
		"another key":         {other, func(e []audit.Entry) []audit.Entry { return e }, "is not signed with the key"},
		"no signature":        {key, func(e []audit.Entry) []audit.Entry { e[4].Signature = nil; return e }, "the stop mark at position 5 is not signed"},
		"an empty outcome":    {key, func(e []audit.Entry) []audit.Entry { e[2].Event = nil; return e }, "record 1 is empty"},
		"a changed event":     {key, func(e []audit.Entry) []audit.Entry { e[2].Event = []byte(`{"n":9}`); return e }, "record 1 was changed"},
		"another number":      {key, func(e []audit.Entry) []audit.Entry { e[2].Sequence = 3; return e }, "record 3 was changed"},
		"a line that is gone": {key, func(e []audit.Entry) []audit.Entry { return append(e[:2], e[3:]...) }, "position 3 is missing before record 1"},
		"a line twice":        {key, func(e []audit.Entry) []audit.Entry { return append(e, e[3]) }, "out of order"},
		"no beginning":        {key, func(e []audit.Entry) []audit.Entry { return e[2:] }, "everything before it is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			v := audit.Verifier{Key: public, Whole: true}
			for _, e := range tt.change(chain(tt.signer)) {
				v.Add(e)
			}
			if text := fmt.Sprint(v.Report().Problems); !strings.Contains(text, tt.want) {
				t.Errorf("%s, want %q", text, tt.want)
			}
		})
	}
}
