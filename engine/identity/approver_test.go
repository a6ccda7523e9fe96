package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/setting"
)

func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// No credential that can call a tool can approve, and none that can approve can call.
func TestApproversAreNoCallers(t *testing.T) {
	callerToken, approverToken := strings.Repeat("c", 40), strings.Repeat("a", 40)
	callers, err := identity.New(identity.Options{Callers: []setting.Caller{{Name: "bot", TokenSHA256: sumOf(callerToken)}}})
	if err != nil {
		t.Fatal(err)
	}
	approvers, err := identity.NewApprovers([]setting.Approver{{Name: "bob", Roles: []string{"lead"}, TokenSHA256: sumOf(approverToken)}}, callers)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := approvers.Authenticate(callerToken); ok {
		t.Error("a caller's token approves")
	}
	if _, ok := callers.Authenticate(approverToken); ok {
		t.Error("an approver's token calls")
	}
	if who, ok := approvers.Authenticate(approverToken); !ok || who.Name != "bob" || len(who.Roles) != 1 {
		t.Errorf("the approver is %+v, %t", who, ok)
	}
	if _, err := identity.NewApprovers([]setting.Approver{{Name: "bob", TokenSHA256: sumOf(callerToken)}}, callers); err == nil {
		t.Error("an approver with the token of a caller was accepted")
	}
}
