package setting_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-dev/writ/engine/setting"
	"github.com/writ-dev/writ/engine/value"
)

const token = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func load(t *testing.T, data string, environ []string, flags map[string]string) (*setting.Settings, string) {
	t.Helper()
	s, list := setting.Load(setting.Sources{File: "writ.yaml", Data: []byte(data), Base: "/etc/writ", Environ: environ, Flags: flags})
	if (s == nil) != list.HasErrors() {
		t.Fatalf("settings %v with errors %v", s, list)
	}
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = d.String()
	}
	return s, strings.Join(lines, "\n")
}

func TestDefaults(t *testing.T) {
	s, problems := load(t, "version: 1\n", nil, nil)
	if problems != "" {
		t.Fatal(problems)
	}
	want := &setting.Settings{
		Listen: "127.0.0.1:8765", Documents: []string{"tools.d", "policies"}, Callers: []setting.Caller{}, Approvers: []setting.Approver{},
		Roots: map[string]string{}, Claims: map[string]value.Field{}, ToolGroups: map[string]bool{}, ToolOverrides: map[string]bool{},
		Limits: setting.Limits{BodyBytes: 32 << 10, ArgumentBytes: 16 << 10, Calls: 64, CallsPerPrincipal: 16, Sessions: 256, SessionsPerPrincipal: 64},
		Expose: setting.ExposeBoth, Reload: setting.Watch,
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(setting.Settings{})); diff != "" {
		t.Error(diff)
	}
	if got := s.Path("tools.d"); got != filepath.FromSlash("/etc/writ/tools.d") {
		t.Errorf("Path = %s", got)
	}
}

func TestEverything(t *testing.T) {
	s, problems := load(t, `version: 1
listen: 0.0.0.0:443
advertised_url: https://writ.example.com
tls: {certificate: cert.pem, key: key.pem}
documents: [mine, /srv/shared]
roots:
  work: ./work
approvers:
  - {name: bob, roles: [lead], token_sha256: 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752}
callers:
  - {name: default, roles: [agent]}
  - name: ci-bot
    roles: [agent, ci]
    claims: {team: ops, level: 3, on_call: true, areas: [a, b]}
    token_sha256: `+token+`
  - {name: "local:ann", roles: [admin]}
claims: {team: string, level: integer, on_call: boolean, areas: strings}
limits: {body: 1MiB, arguments: 64KiB, calls: 1024}
tool_groups: {network: false}
tool_overrides: {ping: true}
expose: meta
reload: manual
`, []string{"PATH=/bin", "WRIT_LIMITS_CALLS=512", "WRIT_EXPOSE=native", "WRIT_TOKEN=x", "WRIT_CONFIG=y"}, map[string]string{"expose": "both", "state-dir": "/tmp/state"})
	if problems != "" {
		t.Fatal(problems)
	}
	want := &setting.Settings{
		Listen: "0.0.0.0:443", AdvertisedURL: "https://writ.example.com", TLS: setting.TLS{Certificate: "cert.pem", Key: "key.pem"},
		StateDir: "/tmp/state", Documents: []string{"mine", "/srv/shared"}, Roots: map[string]string{"work": "./work"},
		Approvers: []setting.Approver{{Name: "bob", Roles: []string{"lead"}, TokenSHA256: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}},
		Callers: []setting.Caller{
			{Name: "default", Roles: []string{"agent"}},
			{Name: "ci-bot", Roles: []string{"agent", "ci"}, TokenSHA256: token,
				Claims: map[string]any{"team": "ops", "level": int64(3), "on_call": true, "areas": []any{"a", "b"}}},
			{Name: "local:ann", Roles: []string{"admin"}},
		},
		Claims: map[string]value.Field{
			"team": {Type: value.Type{Kind: value.String}, Optional: true}, "level": {Type: value.Type{Kind: value.Integer}, Optional: true},
			"on_call": {Type: value.Type{Kind: value.Boolean}, Optional: true},
			"areas":   {Type: value.Type{Kind: value.List, Item: &value.Type{Kind: value.String}}, Optional: true},
		},
		Limits:     setting.Limits{BodyBytes: 1 << 20, ArgumentBytes: 64 << 10, Calls: 512, CallsPerPrincipal: 16, Sessions: 256, SessionsPerPrincipal: 64},
		ToolGroups: map[string]bool{"network": false}, ToolOverrides: map[string]bool{"ping": true},
		Expose: setting.ExposeBoth, Reload: setting.Manual,
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(setting.Settings{})); diff != "" {
		t.Error(diff)
	}
}

func TestMistakes(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"empty":            {"", `writ.yaml: the file is empty`},
		"no version":       {"listen: 127.0.0.1:1\n", `writ.yaml:1:1: version is missing`},
		"version":          {"version: 2\n", `writ.yaml:1:10: version: 2 is not known: this writ reads 1`},
		"version as text":  {"version: \"1\"\n", `writ.yaml:1:10: version must be an integer, not the text "1" (write it without quotes)`},
		"unknown":          {"version: 1\nlisten_on: x\n", `writ.yaml:2:1: unknown key "listen_on" (`},
		"close":            {"version: 1\nlsiten: x\n", `writ.yaml:2:1: unknown key "lsiten" (did you mean "listen"?)`},
		"close nested":     {"version: 1\nlimits:\n  call: 3\n", `writ.yaml:3:3: unknown key "limits.call" (did you mean "calls"?)`},
		"reserved":         {"version: 1\na2a: {}\n", `writ.yaml:2:1: a2a is not yet available`},
		"elsewhere":        {"version: 1\nstate_dir: x\n", `state_dir cannot be set here (use --state-dir or WRIT_STATE_DIR)`},
		"duplicate":        {"version: 1\nlisten: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", `writ.yaml:3:1: "listen" is written twice`},
		"anchor":           {"version: 1\nroots: &r {a: b}\n", `writ.yaml:2:8: an anchor is not allowed`},
		"alias":            {"version: 1\nroots: {a: &x b}\ntool_groups: *x\n", `writ.yaml:3:14: an alias is not allowed`},
		"merge":            {"version: 1\nroots: {<<: {a: b}}\n", `writ.yaml:2:9: << is not allowed`},
		"tag":              {"version: 1\nlisten: !x 127.0.0.1:1\n", `writ.yaml:2:9: a tag is not allowed`},
		"two documents":    {"version: 1\n---\nversion: 1\n", `second document`},
		"syntax":           {"version: 1\nroots: [\n", `writ.yaml:2: not valid YAML`},
		"not a map":        {"- a\n", `writ.yaml:1:1: writ.yaml must be a map`},
		"octal":            {"version: 1\nlimits: {calls: 064}\n", `writ.yaml:2:17: limits.calls: 064: write a whole number without leading zeros`},
		"too many":         {"version: 1\nlimits: {calls: 1025}\n", `writ.yaml:2:17: limits.calls: 1025 is out of range: use 1 to 1024`},
		"body":             {"version: 1\nlimits: {body: 5MiB}\n", `limits.body: 5MiB is out of range: use 1KiB to 4MiB`},
		"size unit":        {"version: 1\nlimits: {body: 64k}\n", `limits.body: size "64k": did you mean 64KiB?`},
		"size SI":          {"version: 1\nlimits: {body: 64KB}\n", `did you mean 64KiB?`},
		"size number":      {"version: 1\nlimits: {body: 65536}\n", `limits.body must be a size, not 65536 (write a unit, such as 32KiB)`},
		"limits list":      {"version: 1\nlimits: [1]\n", `writ.yaml:2:9: limits must be a map`},
		"word":             {"version: 1\nexpose: natvie\n", `unknown word "natvie": use one of native, meta, both; did you mean "native"?`},
		"yes":              {"version: 1\ninsecure_http: yes\n", `insecure_http must be true or false, not the text "yes"`},
		"switch":           {"version: 1\ntool_groups: {a: on}\n", `tool_groups.a must be true or false`},
		"documents":        {"version: 1\ndocuments: tools.d\n", `writ.yaml:2:12: documents must be a list, not the text "tools.d" (write [tools.d])`},
		"no documents":     {"version: 1\ndocuments: []\n", `documents must have 1 to`},
		"documents twice":  {"version: 1\ndocuments: [a, a]\n", `writ.yaml:2:16: "a" is in documents twice`},
		"root name":        {"version: 1\nroots: {Work: x}\n", `writ.yaml:2:9: "Work" is not a name for roots`},
		"anywhere":         {"version: 1\nroots: {anywhere: /}\n", `the root anywhere is built in`},
		"root empty":       {"version: 1\nroots: {work: }\n", `roots.work must be text, not empty`},
		"listen":           {"version: 1\nlisten: localhost\n", `"localhost" is not HOST:PORT`},
		"listen port":      {"version: 1\nlisten: 127.0.0.1:70000\n", `port "70000": use 0 to 65535`},
		"listen host":      {"version: 1\nlisten: example.com:80\n", `use an IP address or localhost`},
		"listen open":      {"version: 1\nlisten: 0.0.0.0:80\n", `writ.yaml:2:9: listen: 0.0.0.0:80 is reachable from other machines`},
		"listen all":       {"version: 1\nlisten: ':80'\n", `reachable from other machines`},
		"half TLS":         {"version: 1\ntls: {key: a}\n", `writ.yaml:2:12: tls.key needs tls.certificate`},
		"advertised path":  {"version: 1\nadvertised_url: https://a.example.com/x\n", `has more than scheme, host and port: write https://a.example.com`},
		"advertised user":  {"version: 1\nadvertised_url: https://u:p@a.example.com\n", `has more than scheme`},
		"advertised any":   {"version: 1\nadvertised_url: 'https://[::]:1'\n", `no address that clients can reach`},
		"advertised plain": {"version: 1\nadvertised_url: http://a.example.com\n", `clients would send tokens to http://a.example.com in the clear`},
		"advertised word":  {"version: 1\nadvertised_url: ftp://a\n", `is not an origin`},
		"no token":         {"version: 1\ncallers: [{name: bot}]\n", `writ.yaml:2:11: caller bot could never call`},
		"plain token":      {"version: 1\ncallers: [{name: bot, token: abc}]\n", `a token does not stand in a file`},
		"bad sum":          {"version: 1\ncallers: [{name: bot, token_sha256: abc}]\n", `token_sha256 must be 64 lower-case hexadecimal digits`},
		"local token":      {"version: 1\ncallers: [{name: 'local:a', token_sha256: " + token + "}]\n", `local:a is known by its user id and has no token`},
		"same name":        {"version: 1\ncallers: [{name: default}, {name: default}]\n", `writ.yaml:2:28: caller "default" is written twice`},
		"same token":       {"version: 1\ncallers: [{name: a, token_sha256: " + token + "}, {name: b, token_sha256: " + token + "}]\n", `caller b has the token of another`},
		"approver token":   {"version: 1\napprovers: [{name: bob}]\n", `an approver needs a token`},
		"approver key":     {"version: 1\napprovers: [{name: bob, role: [a]}]\n", `unknown key "role" (did you mean "roles"?)`},
		"approver twice":   {"version: 1\napprovers: [{name: bob, token_sha256: " + token + "}, {name: bob, token_sha256: " + token + "}]\n", `approver "bob" is written twice`},
		"no name":          {"version: 1\ncallers: [{roles: [a]}]\n", `a caller needs a name`},
		"strange name":     {"version: 1\ncallers: [{name: \"a b\", token_sha256: " + token + "}]\n", `"a b" is not a name of a caller`},
		"caller key":       {"version: 1\ncallers: [{name: default, role: [a]}]\n", `unknown key "role" (did you mean "roles"?)`},
		"undeclared claim": {"version: 1\ncallers: [{name: default, claims: {tema: a}}]\nclaims: {team: string}\n", `claim "tema" is not declared (did you mean "team"?)`},
		"claim type":       {"version: 1\ncallers: [{name: default, claims: {n: a}}]\nclaims: {n: integer}\n", `claim n must be an integer, not the text "a"`},
		"claim word":       {"version: 1\nclaims: {n: float}\n", `unknown type "float"`},
		"claim built in":   {"version: 1\nclaims: {roles: string}\n", `principal.roles is built in`},
		"control":          {"version: 1\nroots: {a: \"x\\u0007\"}\n", `has control characters`},
		"large":            {"version: 1\n#" + strings.Repeat("x", setting.MaxFile), `larger than 256KiB`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, problems := load(t, tt.data, nil, nil); !strings.Contains(problems, tt.want) || strings.Count(problems, "\n") > 1 {
				t.Errorf("got  %s\nwant %s", problems, tt.want)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, problems := load(t, "version: 3\nlimits: {calls: x, body: 1}\nnope: 1\n", []string{"WRIT_LISTEN=x", "WRIT_LISTNE=x"}, map[string]string{"expose": "x"})
	for _, want := range []string{"writ.yaml:1:", "writ.yaml:2:17", "writ.yaml:2:26", "writ.yaml:3:1", "environment variable WRIT_LISTEN:",
		"environment variable WRIT_LISTNE: there is no such setting (did you mean \"WRIT_LISTEN\"?)", "flag --expose:"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is missing in\n%s", want, problems)
		}
	}
}

func TestInsecureWhenTold(t *testing.T) {
	for _, data := range []string{"listen: 0.0.0.0:80\ninsecure_http: true", "listen: '[::1]:80'", "listen: localhost:80", "advertised_url: http://127.0.0.1:80"} {
		if _, problems := load(t, "version: 1\n"+data+"\n", nil, nil); problems != "" {
			t.Errorf("%s: %s", data, problems)
		}
	}
	if _, problems := load(t, "version: 1\n", []string{"WRIT_LISTEN=0.0.0.0:1"}, nil); !strings.Contains(problems, "environment variable WRIT_LISTEN: listen: 0.0.0.0:1 is reachable") {
		t.Error(problems)
	}
}

func TestTableDefaultsParse(t *testing.T) {
	for _, e := range setting.Table() {
		if e.Variable() == "" || e.Default == "" {
			continue
		}
		if _, problems := load(t, "version: 1\n", []string{e.Variable() + "=" + e.Default}, nil); problems != "" {
			t.Errorf("%s: %s", e.Key, problems)
		}
	}
}

// TestReference fails when the page is not what the table says; with WRITE=1
// it writes the page.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "settings.md")
	if os.Getenv("WRITE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(setting.Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(setting.Reference(), string(page)); diff != "" {
		t.Errorf("%s is not up to date: run WRITE=1 go test ./engine/setting\n%s", path, diff)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"", "version: 1", "version: 1\ncallers: [{name: a}]", "a: &a [*a]", "? {a: b}\n: c", "!!set {a}", "version: 1\nroots: {a: !!binary x}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		s, list := setting.Load(setting.Sources{File: "writ.yaml", Data: []byte(data)})
		if (s == nil) != list.HasErrors() {
			t.Errorf("settings %v with %v", s, list)
		}
	})
}
