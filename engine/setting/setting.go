// Package setting answers one question: how is this process run?
//
// Settings come from four places, each stronger than the one before: built-in
// defaults, writ.yaml, WRIT_* variables of the environment, flags. One table
// declares every setting with its type, default and bounds; whatever the table
// does not know is refused with its place and the closest known name. The
// result is immutable. The package also finds the configuration folder and
// names the default state folder. It opens nothing that it is not told to
// open, and decides nothing about calls.
package setting

import (
	"path/filepath"

	"github.com/writ-dev/writ/engine/value"
)

// Settings is how a process is run.
type Settings struct {
	Listen        string // host:port
	AdvertisedURL string // bare origin, or "" (contract S-08)
	InsecureHTTP  bool   // beyond loopback without TLS
	TLS           TLS
	StateDir      string // "" means the default; see StateDir
	Documents     []string
	Roots         map[string]string // name to folder, as written
	Callers       []Caller
	Approvers     []Approver
	// AllowDangerousGrants accepts grants with max_risk: dangerous (contract P-59).
	AllowDangerousGrants bool
	Claims               map[string]value.Field // always optional: a caller need not have one
	Limits               Limits
	ToolGroups           map[string]bool
	ToolOverrides        map[string]bool
	Expose               Expose
	Reload               Reload

	base string
}

// Path makes a path of writ.yaml absolute: relative ones start at the
// configuration folder. Without one, in the embedded packs, it stays.
func (s *Settings) Path(written string) string {
	if written == "" || s.base == "" || filepath.IsAbs(written) {
		return written
	}
	return filepath.Join(s.base, written)
}

// TLS names the files of the listener, as written; both or none.
type TLS struct{ Certificate, Key string }

// Caller is somebody who may call tools.
type Caller struct {
	Name   string // or local:USER for the command line and stdio of that user
	Roles  []string
	Claims map[string]any // canonical values of declared claims
	// TokenSHA256 is the sum of the caller's bearer token in hexadecimal; ""
	// for local callers, and for default when its token comes from elsewhere.
	TokenSHA256 string
}

// Approver is somebody who may approve calls and, with this token, call none.
type Approver struct {
	Name        string
	Roles       []string
	TokenSHA256 string // in hexadecimal
}

// Limits bound what callers may use at one time.
type Limits struct {
	BodyBytes            int64 // of one request (contract S-15)
	ArgumentBytes        int64 // of one call, as JSON (contract S-21)
	Calls                int   // admitted, from decoding to the answer
	CallsPerPrincipal    int
	Sessions             int
	SessionsPerPrincipal int
}

// Expose says in which form tools are offered over MCP.
type Expose string

// The forms: every tool by itself, writ_tools and writ_invoke, or both.
const (
	ExposeNative Expose = "native"
	ExposeMeta   Expose = "meta"
	ExposeBoth   Expose = "both"
)

// Reload says when changed files come into force.
type Reload string

// Watch: by themselves. Manual: when told to.
const (
	Watch  Reload = "watch"
	Manual Reload = "manual"
)

// DefaultCaller is the caller of WRIT_TOKEN and of the generated token.
const DefaultCaller = "default"

// LocalPrefix begins the name of a caller that is a user of this machine.
const LocalPrefix = "local:"
