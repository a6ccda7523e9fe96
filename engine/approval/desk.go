// Package approval answers one question: who must say yes, and did they?
//
// What they said becomes an Authorization: it contains the prepared call, is
// used once and expires. Only this room can make one. At present the desk
// authorizes what policy permits without asking anybody; a call that needs a
// person is not authorized at all.
package approval

import (
	"fmt"
	"time"

	"github.com/writ-dev/writ/engine/approval/internal/seal"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
)

// Lifetime is how long an authorization that nobody had to be asked for may
// wait before it is spent. It covers the way from deciding to executing.
const Lifetime = 30 * time.Second

// Authorization allows one execution of exactly one prepared call.
type Authorization = seal.Authorization

// The reasons why an authorization cannot be spent.
var (
	ErrNone    = seal.ErrNone
	ErrSpent   = seal.ErrSpent
	ErrExpired = seal.ErrExpired
)

// Values of the approval field of a record (contract P-83).
const (
	NotRequired  = "not_required"
	NotRequested = "not_requested"
)

// Desk turns decisions into authorizations.
type Desk struct {
	now func() time.Time
}

// NewDesk makes a desk that reads the time from now.
func NewDesk(now func() time.Time) *Desk { return &Desk{now: now} }

// Authorize makes an authorization for a call that policy permits, and an
// error for any other.
func (d *Desk) Authorize(prepared call.Prepared, decision policy.Decision) (Authorization, error) {
	if decision.Effect != policy.Permit {
		return Authorization{}, fmt.Errorf("authorize %s: the decision is %s", prepared.Request.Tool, decision.Effect)
	}
	return seal.Make(prepared, NotRequired, false, d.now().Add(Lifetime)), nil
}
