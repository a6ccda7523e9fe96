package approval_test

import (
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
)

// TestAuthorizeByGrant holds the desk to what a grant may stand in for,
// whatever its caller believes.
func TestAuthorizeByGrant(t *testing.T) {
	desk := approval.NewDesk(time.Now, func() string { return "id" })
	for name, c := range map[string]struct {
		decision policy.Decision
		fine     bool
	}{
		"confirm":       {policy.Decision{Effect: policy.RequireApproval, Confirmation: policy.Confirm, Grants: true}, true},
		"phrase":        {policy.Decision{Effect: policy.RequireApproval, Confirmation: policy.Phrase, Grants: true}, false},
		"grants: false": {policy.Decision{Effect: policy.RequireApproval, Confirmation: policy.Confirm}, false},
		"deny":          {policy.Decision{Grants: true}, false},
		"permit":        {policy.Decision{Effect: policy.Permit, Grants: true}, false},
	} {
		authorization, err := desk.AuthorizeByGrant(call.Prepared{}, c.decision)
		if _, ok := authorization.Prepared(); ok != c.fine || (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if c.fine && (authorization.By() != approval.ApprovedByGrant || authorization.Asked()) {
			t.Errorf("%s: by %q", name, authorization.By())
		}
	}
}
