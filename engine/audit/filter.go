package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/diag"
)

// The number of records that one question answers: when it does not say, and
// at most.
const (
	DefaultLimit = 50
	MaxLimit     = 1000
)

// Filter asks for records. Zero fields ask for everything.
type Filter struct {
	Since     time.Time `json:"since,omitzero"` // of the start of the call
	Until     time.Time `json:"until,omitzero"`
	Tool      string    `json:"tool,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Result    Result    `json:"result,omitempty"`
	// After asks for the oldest records behind this sequence number. Without
	// it the newest are given. Both come in ascending order.
	After int64 `json:"after,omitempty"`
	Limit int   `json:"limit,omitempty"` // 0 means DefaultLimit
}

// Check refuses a filter that asks for something impossible.
func (f Filter) Check() error {
	if f.Result != "" && !slices.Contains(Results(), string(f.Result)) {
		hint := diag.DidYouMean(string(f.Result), Results())
		return fmt.Errorf("unknown result %q: use %s", f.Result, strings.TrimSpace(diag.OneOf(Results())+" "+hint))
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		return fmt.Errorf("limit %d: use 1 to %d", f.Limit, MaxLimit)
	}
	if f.After < 0 {
		return fmt.Errorf("after %d: use a sequence number that was printed", f.After)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Until.Before(f.Since) {
		return fmt.Errorf("until %s is before since %s", f.Until.Format(time.RFC3339), f.Since.Format(time.RFC3339))
	}
	return nil
}
