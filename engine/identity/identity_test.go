package identity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/setting"
)

func token(c string) string { return strings.Repeat(c, 32) }

func sum(token string) string {
	s := sha256.Sum256([]byte(token))
	return hex.EncodeToString(s[:])
}

func never() (string, error) { return "", errors.New("asked for a generated token") }

func callers(t *testing.T, o identity.Options) *identity.Callers {
	t.Helper()
	c, err := identity.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthenticate(t *testing.T) {
	c := callers(t, identity.Options{Generated: never, Callers: []setting.Caller{
		{Name: "first", TokenSHA256: sum(token("a"))},
		{Name: "second", Roles: []string{"ci"}, Claims: map[string]any{"team": "ops"}, TokenSHA256: sum(token("b"))},
		{Name: "local:ann", Roles: []string{"admin"}},
		{Name: "third", TokenSHA256: sum(token("c"))},
	}})
	for sent, want := range map[string]string{
		token("a"): "first", token("b"): "second", token("c"): "third",
		token("d"): "", "": "", token("a") + "a": "", token("a")[1:]: "", strings.ToUpper(token("a")): "",
		sum(token("a")): "", token("a") + "\x00": "", strings.Repeat("a", identity.MaxToken+1): "",
	} {
		got, ok := c.Authenticate(sent)
		if got.Name != want || ok != (want != "") {
			t.Errorf("Authenticate(%q) = %q, %v; want %q", sent, got.Name, ok, want)
		}
	}
	got, _ := c.Authenticate(token("b"))
	want := call.Principal{Name: "second", Roles: []string{"ci"}, Claims: map[string]any{"team": "ops"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got.Roles[0], got.Claims["team"] = "admin", "root"
	if again, _ := c.Authenticate(token("b")); cmp.Diff(want, again) != "" {
		t.Errorf("a caller changed what the next one sees: %+v", again)
	}
	if c.Source() != identity.FromFile {
		t.Errorf("source is %s", c.Source())
	}
}

func TestPrecedence(t *testing.T) {
	file := []setting.Caller{{Name: "default", Roles: []string{"agent"}, TokenSHA256: sum(token("f"))}}
	generated := func() (string, error) { return token("g"), nil }
	for name, tt := range map[string]struct {
		options identity.Options
		source  identity.Source
		valid   string
		refused []string
	}{
		"environment": {identity.Options{Callers: file, Token: token("e"), TokenSet: true, Generated: never}, identity.FromEnvironment, "e", []string{"f", "g"}},
		"file":        {identity.Options{Callers: file, Generated: never}, identity.FromFile, "f", []string{"e", "g"}},
		"generated":   {identity.Options{Callers: []setting.Caller{{Name: "default", Roles: []string{"agent"}}}, Generated: generated}, identity.Generated, "g", []string{"e", "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := callers(t, tt.options)
			if c.Source() != tt.source {
				t.Errorf("source is %s, want %s", c.Source(), tt.source)
			}
			want := call.Principal{Name: "default", Roles: []string{"agent"}}
			if got, ok := c.Authenticate(token(tt.valid)); !ok || cmp.Diff(want, got) != "" {
				t.Errorf("the token gives %+v, %v", got, ok)
			}
			for _, other := range tt.refused {
				if got, ok := c.Authenticate(token(other)); ok {
					t.Errorf("a weaker token gives %+v", got)
				}
			}
		})
	}
	c := callers(t, identity.Options{Token: token("e"), TokenSet: true, Generated: never})
	if got, ok := c.Authenticate(token("e")); !ok || got.Name != "default" || got.Roles != nil {
		t.Errorf("without any caller: %+v, %v", got, ok)
	}
	c = callers(t, identity.Options{Callers: []setting.Caller{{Name: "bot", TokenSHA256: sum(token("b"))}}, Token: token("e"), TokenSet: true, Generated: never})
	if got, _ := c.Authenticate(token("b")); got.Name != "bot" {
		t.Errorf("a token in the environment took away another caller's: %+v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		options identity.Options
		want    string
	}{
		"set but empty": {identity.Options{TokenSet: true, Generated: never}, "WRIT_TOKEN: the token is empty"},
		"short":         {identity.Options{Token: token("a")[1:], TokenSet: true, Generated: never}, "has 31 characters: use 32 to 256"},
		"long":          {identity.Options{Token: strings.Repeat("a", 257), TokenSet: true, Generated: never}, "has 257 characters"},
		"space":         {identity.Options{Token: token("a") + " ", TokenSet: true, Generated: never}, "printable ASCII"},
		"newline":       {identity.Options{Token: token("a") + "\n", TokenSet: true, Generated: never}, "printable ASCII"},
		"not ASCII":     {identity.Options{Token: token("ä"), TokenSet: true, Generated: never}, "printable ASCII"},
		"delete":        {identity.Options{Token: token("\x7f"), TokenSet: true, Generated: never}, "printable ASCII"},
		"no state":      {identity.Options{Generated: never}, "asked for a generated token"},
		"spoilt state":  {identity.Options{Generated: func() (string, error) { return "x", nil }}, "--new-token"},
		"shared": {identity.Options{Callers: []setting.Caller{{Name: "bot", TokenSHA256: sum(token("a"))}}, Token: token("a"), TokenSet: true, Generated: never},
			"callers bot and default have the same token"},
		"bad sum": {identity.Options{Callers: []setting.Caller{{Name: "bot", TokenSHA256: "abc"}}, Generated: never}, "not a SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := identity.New(tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("New gave %v, want %q", err, tt.want)
			}
			if tt.options.Token != "" && strings.Contains(err.Error(), tt.options.Token) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestLocalAndNamed(t *testing.T) {
	c := callers(t, identity.Options{Token: token("e"), TokenSet: true, Generated: never, Callers: []setting.Caller{{Name: "local:ann", Roles: []string{"admin"}}}})
	if got := c.Local("ann"); got.Name != "local:ann" || len(got.Roles) != 1 {
		t.Errorf("Local(ann) = %+v", got)
	}
	if got := c.Local("bob"); cmp.Diff(call.Principal{Name: "local:bob"}, got) != "" {
		t.Errorf("Local(bob) = %+v", got)
	}
	if _, ok := c.Named("bob"); ok {
		t.Error("bob is known")
	}
	if got, ok := c.Named("default"); !ok || got.Name != "default" {
		t.Errorf("Named(default) = %+v, %v", got, ok)
	}
	if diff := cmp.Diff([]string{"default", "local:ann"}, c.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestNewToken(t *testing.T) {
	made, err := identity.NewToken(bytes.NewReader(bytes.Repeat([]byte{0xab}, 32)))
	if err != nil || made != strings.Repeat("ab", 32) || identity.CheckToken(made) != nil {
		t.Errorf("NewToken = %q, %v", made, err)
	}
	if _, err := identity.NewToken(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a token of too few random bytes was made")
	}
}
