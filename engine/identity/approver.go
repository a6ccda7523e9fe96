package identity

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/engine/setting"
)

// Approver is a person who may approve calls.
type Approver struct {
	Name  string
	Roles []string
}

// Approvers knows everybody who may approve by token. It is immutable and safe
// for concurrent use.
type Approvers struct {
	people []Approver
	sums   [][sha256.Size]byte
}

// NewApprovers makes the approvers. An approver who holds the token of a
// caller is an error: no credential that can call a tool can approve.
func NewApprovers(list []setting.Approver, callers *Callers) (*Approvers, error) {
	a := &Approvers{}
	for _, written := range list {
		sum, err := hex.DecodeString(written.TokenSHA256)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("approver %s: the token sum is not a SHA-256 in hexadecimal", written.Name)
		}
		for _, e := range callers.tokens {
			if subtle.ConstantTimeCompare(e.sum[:], sum) == 1 {
				return nil, fmt.Errorf("approver %s has the token of the caller %s; a token that can call cannot approve", written.Name, e.name)
			}
		}
		a.people = append(a.people, Approver{Name: written.Name, Roles: slices.Clone(written.Roles)})
		a.sums = append(a.sums, [sha256.Size]byte(sum))
	}
	return a, nil
}

// Authenticate says who holds the token. Every approver is compared.
func (a *Approvers) Authenticate(token string) (Approver, bool) {
	if len(token) > MaxToken {
		return Approver{}, false
	}
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range a.sums {
		same := subtle.ConstantTimeCompare(a.sums[i][:], sum[:])
		found |= subtle.ConstantTimeSelect(same, i+1, 0)
	}
	if found == 0 {
		return Approver{}, false
	}
	return a.people[found-1], true
}

// People lists the approvers.
func (a *Approvers) People() []Approver { return slices.Clone(a.people) }
