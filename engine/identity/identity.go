// Package identity answers one question: who is really calling?
//
// Callers over the network hold a bearer token; of each only the SHA-256 sum
// is kept, and a presented token is compared with every one of them, so that
// the time says nothing about which came close. A user of this machine is
// local:USER and needs no token. Roles and claims come from the configuration
// and never from what a caller sends. Which header carries the token is the
// business of the entry point; where a generated token is kept, that of
// whoever assembles the process.
package identity

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/setting"
)

// Callers knows everybody who may call. It is immutable and safe for
// concurrent use.
type Callers struct {
	known  map[string]call.Principal
	tokens []entry
	source Source
}

type entry struct {
	sum  [sha256.Size]byte
	name string
}

// Options are what the configuration and the environment say.
type Options struct {
	Callers []setting.Caller
	// Token is WRIT_TOKEN; TokenSet tells set but empty from not set.
	Token    string
	TokenSet bool
	// Generated gives the token of the state folder. It is asked only when
	// neither the environment nor writ.yaml has a token.
	Generated func() (string, error)
}

// New makes the callers. The token of the caller default is WRIT_TOKEN, else
// what writ.yaml says, else, when writ.yaml has no token at all, the generated
// one (contract S-10). A WRIT_TOKEN that is set and not a token is an error.
func New(o Options) (*Callers, error) {
	c := &Callers{known: map[string]call.Principal{}, source: FromFile}
	for _, caller := range o.Callers {
		c.known[caller.Name] = call.Principal{Name: caller.Name, Roles: slices.Clone(caller.Roles), Claims: maps.Clone(caller.Claims)}
		if caller.TokenSHA256 == "" || o.TokenSet && caller.Name == setting.DefaultCaller {
			continue
		}
		sum, err := hex.DecodeString(caller.TokenSHA256)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("caller %s: the token sum is not a SHA-256 in hexadecimal", caller.Name)
		}
		if err := c.add([sha256.Size]byte(sum), caller.Name); err != nil {
			return nil, err
		}
	}
	token := ""
	switch {
	case o.TokenSet:
		c.source, token = FromEnvironment, o.Token
		if err := CheckToken(token); err != nil {
			return nil, fmt.Errorf("%s: %w; unset it, or set another", setting.TokenVariable, err)
		}
	case len(c.tokens) == 0:
		generated, err := o.Generated()
		if err != nil {
			return nil, fmt.Errorf("generated token: %w", err)
		}
		if err := CheckToken(generated); err != nil {
			return nil, fmt.Errorf("generated token: %w; make another with --new-token", err)
		}
		c.source, token = Generated, generated
	default:
		return c, nil
	}
	if err := c.add(sha256.Sum256([]byte(token)), setting.DefaultCaller); err != nil {
		return nil, err
	}
	if _, listed := c.known[setting.DefaultCaller]; !listed {
		c.known[setting.DefaultCaller] = call.Principal{Name: setting.DefaultCaller}
	}
	return c, nil
}

func (c *Callers) add(sum [sha256.Size]byte, name string) error {
	for _, e := range c.tokens {
		if subtle.ConstantTimeCompare(e.sum[:], sum[:]) == 1 {
			return fmt.Errorf("callers %s and %s have the same token; give each their own", e.name, name)
		}
	}
	c.tokens = append(c.tokens, entry{sum: sum, name: name})
	return nil
}

// Authenticate says who holds the token. A token of more than MaxToken bytes
// is nobody's (contract S-13).
func (c *Callers) Authenticate(token string) (call.Principal, bool) {
	if len(token) > MaxToken {
		return call.Principal{}, false
	}
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range c.tokens {
		// Every caller is compared, and nothing branches on the outcome.
		same := subtle.ConstantTimeCompare(c.tokens[i].sum[:], sum[:])
		found |= subtle.ConstantTimeSelect(same, i+1, 0)
	}
	if found == 0 {
		return call.Principal{}, false
	}
	return c.principal(c.tokens[found-1].name), true
}

// Local is a user of this machine, with the roles and claims that callers give
// to local:USER.
func (c *Callers) Local(user string) call.Principal {
	name := setting.LocalPrefix + user
	if _, listed := c.known[name]; listed {
		return c.principal(name)
	}
	return call.Principal{Name: name}
}

// Named is the caller of a name as the configuration describes them, for
// explaining what would happen; it authenticates nobody.
func (c *Callers) Named(name string) (call.Principal, bool) {
	if _, listed := c.known[name]; !listed {
		return call.Principal{}, false
	}
	return c.principal(name), true
}

// Names lists the callers that the configuration or a token makes known.
func (c *Callers) Names() []string { return slices.Sorted(maps.Keys(c.known)) }

// Source says where the tokens come from.
func (c *Callers) Source() Source { return c.source }

// principal copies, so that nobody can change what the next call will see.
func (c *Callers) principal(name string) call.Principal {
	p := c.known[name]
	p.Roles, p.Claims = slices.Clone(p.Roles), maps.Clone(p.Claims)
	return p
}
