// Package approvaltest lets tests execute calls that a person would have to
// approve. The import test of the engine fails when anything but a _test.go
// file imports it.
package approvaltest

import (
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/approval/internal/seal"
	"github.com/writ-dev/writ/engine/call"
)

// Approve authorizes a prepared call as if a person had said yes at once.
func Approve(prepared call.Prepared, expires time.Time) approval.Authorization {
	return seal.Make(prepared, "approved_once", true, expires)
}
