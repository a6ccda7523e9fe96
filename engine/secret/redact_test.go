package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/document"
)

func vaultOf(values map[string]string) *Vault {
	var documents []*document.Secret
	for name := range values {
		documents = append(documents, declare(name, name, "", "x"))
	}
	vault, _ := New(documents, options(values, nil))
	return vault
}

func TestRedactSpellings(t *testing.T) {
	const secret = "p@ss/w\"ör+d <&>%1"
	vault := vaultOf(map[string]string{"pw": secret})
	quoted, _ := json.Marshal(secret)
	texts := map[string]string{
		"raw": secret, "json": string(quoted), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"lower": strings.ToLower("%70%40") + lowerEscapes(url.QueryEscape(secret)), "hex": hex.EncodeToString([]byte(secret)),
		"ascii": `p@ss/w\"\u00f6r+d <&>%1`, "slash": `p@ss\/w\"ör+d <&>%1`,
	}
	for name, encoding := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "rawstd": base64.RawStdEncoding, "rawurl": base64.RawURLEncoding} {
		texts[name] = encoding.EncodeToString([]byte(secret))
		texts[name+"1"] = encoding.EncodeToString([]byte("u" + secret + "tail"))
		texts[name+"2"] = encoding.EncodeToString([]byte("u:" + secret + "ta"))
		texts[name+"3"] = encoding.EncodeToString([]byte("use" + secret + "t"))
	}
	for name, text := range texts {
		got := vault.Redact("before " + text + " after")
		if strings.Count(got, "[redacted pw]") != 1 || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %s became %s", name, text, got)
		}
		if kept := len(got) - len("before [redacted pw] after"); kept > 12 {
			t.Errorf("%s: %d bytes of %s are left: %s", name, kept, text, got)
		}
	}
}

func TestRedactOverlaps(t *testing.T) {
	for _, c := range []struct {
		values     map[string]string
		text, want string
	}{
		{map[string]string{"a": "abcd", "b": "abcdefgh"}, "xabcdefghx abcdx", "x[redacted b]x [redacted a]x"},
		{map[string]string{"a": "abcdef", "b": "defghi"}, "abcdefghi", "[redacted a]"},
		{map[string]string{"a": "aaaa"}, "baaaaaaab", "b[redacted a]b"},
		{map[string]string{"a": "abcd"}, "abcdabcd", "[redacted a][redacted a]"},
		{map[string]string{"a": "abcd"}, "abcabc", "abcabc"},
		{map[string]string{"key": "-----BEGIN-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END-----"}, "line hkiG9w0BAQEFAASC!", "line [redacted key]!"},
	} {
		if got := vaultOf(c.values).Redact(c.text); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRedactWithoutSecrets(t *testing.T) {
	vault := vaultOf(nil)
	piece := []byte("text")
	if got := vault.Stream().Write(piece); &got[0] != &piece[0] {
		t.Error("a stream without secrets copies")
	}
	if allocs := testing.AllocsPerRun(10, func() { vault.Redact("text"); vault.Stream() }); allocs > 0 {
		t.Errorf("%v allocations without secrets", allocs)
	}
}

func TestAlsoIsCutOutButNotUsable(t *testing.T) {
	o := options(nil, nil)
	o.Also = map[string]string{"token": "deadbeefdeadbeef", "none": ""}
	vault, _ := New(nil, o)
	if got := vault.Redact("x deadbeefdeadbeef"); got != "x [redacted token]" {
		t.Error(got)
	}
	if _, err := vault.Value("token"); err == nil {
		t.Error("a value that no document declares can be read")
	}
}

// reference finds every spelling at every place and cuts out their union, all
// under one name.
func reference(needles map[string]string, text string) string {
	owner := make([]int, len(text)+1) // 0 free, else 1; starts[i] marks a cut that begins anew
	type hit struct{ start, end int }
	var hits []hit
	for start := range text {
		for needle := range needles {
			if len(needle) >= MinBytes && strings.HasPrefix(text[start:], needle) {
				hits = append(hits, hit{start, start + len(needle)})
				for i := start; i < start+len(needle); i++ {
					owner[i] = 1
				}
			}
		}
	}
	joined := make([]bool, len(text)+1) // the border before byte i is inside a spelling
	for _, h := range hits {
		for i := h.start + 1; i < h.end; i++ {
			joined[i] = true
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case owner[i] == 0:
			b.WriteByte(text[i])
		case !joined[i]:
			b.WriteString("[redacted]")
		}
	}
	return b.String()
}

func FuzzStream(f *testing.F) {
	f.Add("abcdabcd", "abcdef", "xxabcdabcdefabcdxx", uint8(3))
	f.Add("aaaa", "aabaa", "aaaaabaaaabaaaaaaa", uint8(1))
	f.Add("p@ss", "%70%40", "%70%40%73%73p%40ss cEBzcw== ", uint8(2))
	f.Add("secret", "ecre", "c2VjcmV0c2VjcmV0secrecret", uint8(5))
	f.Fuzz(func(t *testing.T, one, two, text string, step uint8) {
		if len(text) > 4096 || len(one) > 64 || len(two) > 64 {
			return
		}
		values := map[string]string{}
		needles := map[string]string{}
		for name, v := range map[string]string{"a": one, "b": two} {
			if unfit(v) != "" {
				continue
			}
			values[name] = v
			for _, s := range spellings(v) {
				needles[s] = name
			}
		}
		vault := vaultOf(values)
		whole := vault.Redact(text)
		s := vault.Stream()
		var got bytes.Buffer
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), int(step%7)+1)
			got.Write(s.Write(rest[:n]))
			rest = rest[n:]
		}
		got.Write(s.Flush())
		if got.String() != whole {
			t.Fatalf("in pieces %q, whole %q", got.String(), whole)
		}
		plain := strings.NewReplacer("[redacted a]", "[redacted]", "[redacted b]", "[redacted]")
		if want := plain.Replace(reference(needles, text)); plain.Replace(whole) != want {
			t.Fatalf("%q became %q, want %q", text, plain.Replace(whole), want)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	s := vaultOf(map[string]string{"a": "tok-1234567890", "b": "another-long-secret"}).Stream()
	piece := bytes.Repeat([]byte("a line of ordinary output, nothing to see here\n"), 700)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		s.Write(piece)
	}
}
