package output

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/call"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":                       "plain\ttext\n",
		"a\r\nb\rc":                           "a\nb\nc",
		"\x1b[1;31mred\x1b[0m":                "red",
		"\x1b]0;title\x07after":               "after",
		"\x1b]8;;http://x\x1b\\link":          "link",
		"\x1b]lost end\nnext":                 "lost end\nnext",
		"\x1b(Bx\x1b7y\x1b":                   "xy",
		"bell\x07 back\x08 nul\x00 del\x7f":   "bell back nul del",
		"c1 \u0085\u009b31mx":                 "c1 x",
		"bad \xff\xfe utf":                    "bad \ufffd\ufffd utf",
		"ünïcode 😀":                           "ünïcode 😀",
		"\x1b[":                               "",
		"\x1b[31":                             "",
		"\x1bP1;2q data \x1b\\x\x1b_apc\x07y": "xy",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBound(t *testing.T) {
	long := strings.Repeat("0123456789\n", 100)
	got, cut := plain(long).bound(300)
	if !cut || len(got) > 300 || !strings.HasPrefix(got, "0123456789\n") || !strings.HasSuffix(got, "\n0123456789\n") || strings.Count(got, "bytes left out") != 1 {
		t.Errorf("%q", got)
	}
	got, cut = newText(call.Capture{Head: []byte("a\xc3"), Tail: []byte("\xa9b"), Total: 1000}).bound(300)
	if want := "a\n[… 998 bytes left out …]\nb"; got != want || !cut {
		t.Errorf("got %q, want %q", got, want)
	}
	got, cut = newText(call.Capture{Head: []byte("a\xc3"), Tail: []byte("\xa9b"), Total: 4}).bound(300)
	if got != "aéb" || cut {
		t.Errorf("got %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("é😀\x1b[31m\r\n"), []byte("\xa9 tail"), uint16(300), uint32(7))
	f.Add([]byte(strings.Repeat("é", 400)), []byte(""), uint16(256), uint32(0))
	f.Fuzz(func(t *testing.T, head, tail []byte, limit uint16, dropped uint32) {
		if dropped == 0 {
			head, tail = append(head, tail...), nil
		}
		bounded := max(64, int(limit))
		text := newText(call.Capture{Head: head, Tail: tail, Total: int64(len(head)+len(tail)) + int64(dropped)})
		out, cut := text.bound(bounded)
		if len(out) > bounded {
			t.Fatalf("%d bytes, limit %d", len(out), bounded)
		}
		if !utf8.ValidString(out) {
			t.Fatalf("invalid UTF-8: %q", out)
		}
		for _, r := range out {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("control character %q in %q", r, out)
			}
		}
		if cut != strings.Contains(out, "bytes left out …]\n") && !strings.Contains(string(head)+string(tail), "bytes left out") {
			t.Fatalf("cut %v without its mark, or the other way round: %q", cut, out)
		}
		if !cut && dropped > 0 {
			t.Fatal("something was dropped and nothing says so")
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true,1e999]}`))
	shape := shapeOf(f, `{"as":"json","rows":"a","fields":{"x":{"path":"b[].c"},"y":{"path":"d","type":"object"}}}`)
	loose := shapeOf(f, `{"as":"json"}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range []*Shape{shape, loose} {
			if got := s.Apply(said(string(data), ""), nil); got.Success && got.Structured == nil {
				t.Fatalf("%+v", got)
			}
		}
	})
}
