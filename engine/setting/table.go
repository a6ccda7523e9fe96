package setting

import (
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// form is how the value of a setting is written.
type form int

const (
	formInteger form = iota
	formSize
	formBoolean
	formWord
	formText
	formList    // of text
	formFolders // name: path
	formSwitches
	formClaims
	formCallers
	formApprovers
)

// Entry declares one setting.
type Entry struct {
	Key     string // as in writ.yaml; a dot stands for nesting
	Default string // as it would be written; "" means none
	Doc     string // one sentence
	// Min and Max bound integers and sizes (in bytes), inclusively.
	Min, Max int64
	Words    []string
	// Elsewhere: not in writ.yaml, only in the environment and as a flag.
	Elsewhere bool
	// FileOnly: only in writ.yaml.
	FileOnly bool

	form  form
	check func(text string) error // of a text or word
}

// Type names the form for the reference page.
func (e Entry) Type() string {
	switch e.form {
	case formInteger:
		return "integer"
	case formSize:
		return "size"
	case formBoolean:
		return "true or false"
	case formWord:
		return diag.OneOf(e.Words)
	case formList:
		return "list of paths"
	case formFolders:
		return "map of names to folders"
	case formSwitches:
		return "map of names to true or false"
	case formClaims:
		return "map of names to types"
	case formCallers:
		return "list of callers"
	case formApprovers:
		return "list of approvers"
	}
	return "text"
}

// scalar reports whether the environment and flags can give the setting.
func (e Entry) scalar() bool { return e.form <= formText && !e.FileOnly }

// Variable is the name of the environment variable, or "".
func (e Entry) Variable() string {
	if !e.scalar() {
		return ""
	}
	return "WRIT_" + strings.ToUpper(strings.ReplaceAll(e.Key, ".", "_"))
}

// Flag is the name of the flag without dashes, or "". The command line says
// which of them it offers.
func (e Entry) Flag() string {
	if !e.scalar() {
		return ""
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(e.Key)
}

// Table lists every setting in the order of the reference page.
func Table() []Entry {
	return []Entry{
		{Key: "version", form: formInteger, FileOnly: true, Min: 1, Max: 1, Doc: "Version of the syntax of all files. Required in writ.yaml."},
		{Key: "listen", form: formText, Default: "127.0.0.1:8765", check: checkListen, Doc: "Address and port of the HTTP listener. Port 0 takes any free port."},
		{Key: "advertised_url", form: formText, check: checkAdvertised, Doc: "Origin under which clients reach the server, such as https://writ.example.com, when it is not the listen address."},
		{Key: "insecure_http", form: formBoolean, Default: "false", Doc: "Allow plain HTTP beyond loopback. Tokens then cross the network in the clear."},
		{Key: "tls.certificate", form: formText, Doc: "Certificate file (PEM) of the listener. Needs tls.key."},
		{Key: "tls.key", form: formText, Doc: "Key file (PEM) of the listener. Needs tls.certificate."},
		{Key: "state_dir", form: formText, Elsewhere: true, Doc: "Folder of the database and the generated token. Default: a folder of the configuration's own below $XDG_STATE_HOME/writ."},
		{Key: "documents", form: formList, Default: "[tools.d, policies]", Doc: "Folders and files of tools and policies, relative to writ.yaml."},
		{Key: "roots", form: formFolders, Doc: "Folders that path arguments may lie in, by the names which tools use."},
		{Key: "callers", form: formCallers, Doc: "Who may call: name, roles, claims and the SHA-256 of a token. local:USER gives roles to a user of this machine."},
		{Key: "approvers", form: formApprovers, Doc: "Who may approve calls: name, roles and the SHA-256 of a token that can call nothing."},
		{Key: "allow_dangerous_grants", form: formBoolean, FileOnly: true, Doc: "Accept grants with max_risk: dangerous (false unless written). They release a call only where writ serve or writ stdio was also started with --allow-dangerous-grants, and never one that needs a phrase."},
		{Key: "claims", form: formClaims, Doc: "Claims that callers may have and rules may read as principal.NAME, each with its type: " + strings.Join(claimTypes(), ", ") + "."},
		{Key: "limits.body", form: formSize, Default: "32KiB", Min: 1 << 10, Max: 4 << 20, Doc: "Largest HTTP request."},
		{Key: "limits.arguments", form: formSize, Default: "16KiB", Min: 256, Max: 1 << 20, Doc: "Largest arguments of one call, as JSON."},
		{Key: "limits.calls", form: formInteger, Default: "64", Min: 1, Max: 1024, Doc: "Calls under way at one time. More are told to try again."},
		{Key: "limits.calls_per_principal", form: formInteger, Default: "16", Min: 1, Max: 1024, Doc: "The same for one caller."},
		{Key: "limits.sessions", form: formInteger, Default: "256", Min: 1, Max: 4096, Doc: "Open MCP sessions."},
		{Key: "limits.sessions_per_principal", form: formInteger, Default: "64", Min: 1, Max: 4096, Doc: "The same for one caller."},
		{Key: "tool_groups", form: formSwitches, Doc: "Switches groups of tools off or on."},
		{Key: "tool_overrides", form: formSwitches, Doc: "Switches single tools off or on, whatever their group says."},
		{Key: "expose", form: formWord, Default: "both", Words: []string{"native", "meta", "both"}, Doc: "Offer tools over MCP by themselves (native), through writ_tools and writ_invoke (meta), or both."},
		{Key: "reload", form: formWord, Default: "watch", Words: []string{"watch", "manual"}, Doc: "Changed files come into force by themselves (watch), or only by writ reload and SIGHUP (manual)."},
	}
}

// Reserved lists keys of writ.yaml that a later version will know.
func Reserved() []string { return []string{"a2a", "card", "store", "language", "env", "access"} }

// Variables of the environment that are no settings: which configuration, and
// the token of the caller default.
const (
	ConfigVariable = "WRIT_CONFIG"
	TokenVariable  = "WRIT_TOKEN"
)

// Size prints a bound or default of a size.
func Size(bytes int64) string { return document.Size(bytes).String() }
