package setting

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// Sources is where settings come from, weakest first.
type Sources struct {
	// File is the name of writ.yaml for messages, and Data its content.
	File string
	Data []byte
	// Base is the absolute configuration folder; "" for the embedded packs.
	Base string
	// Environ is the environment, each NAME=VALUE.
	Environ []string
	// Flags are the flags that were given, by their names without dashes, of
	// those that stand for settings.
	Flags map[string]string
}

// Load reads the settings. With any error in the list they are nil.
func Load(sources Sources) (*Settings, diag.List) {
	f := readFile(sources.File, sources.Data)
	l := &layers{list: f.list, at: f.at}
	environment := l.environment(sources.Environ)
	flags := l.flags(sources.Flags)
	if l.list.HasErrors() {
		return nil, l.list.Sorted()
	}
	k := koanf.New(".")
	for _, provider := range []koanf.Provider{confmap.Provider(defaults(), "."), confmap.Provider(f.values, "."), environment, confmap.Provider(flags, ".")} {
		if err := k.Load(provider, nil); err != nil {
			l.list.Errorf(diag.Position{File: sources.File}, "internal", "merge settings: %v", err)
			return nil, l.list
		}
	}
	s := build(k, sources.Base)
	l.agree(s)
	if l.list.HasErrors() {
		return nil, l.list.Sorted()
	}
	return s, l.list.Sorted()
}

// layers collects what the environment and the flags say, and from where
// every setting has its value.
type layers struct {
	list diag.List
	at   map[string]diag.Position
}

func defaults() map[string]any {
	out := map[string]any{"documents": []string{"tools.d", "policies"}, "callers": []Caller{}, "approvers": []Approver{}}
	for _, e := range Table() {
		if e.scalar() && e.Default != "" {
			// The table is checked by a test: every default parses.
			out[e.Key], _ = e.parse(e.Default)
		}
	}
	return out
}

// environment makes the provider of the WRIT_ variables.
func (l *layers) environment(environ []string) koanf.Provider {
	values := map[string]any{}
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "WRIT_") || name == ConfigVariable || name == TokenVariable {
			continue
		}
		l.take(values, name, text, diag.Position{File: "environment variable " + name}, Entry.Variable)
	}
	return env.Provider(".", env.Opt{EnvironFunc: func() []string { return environ }, TransformFunc: func(name, _ string) (string, any) {
		for _, e := range Table() {
			if v, ok := values[e.Key]; ok && e.Variable() == name {
				return e.Key, v
			}
		}
		return "", nil
	}})
}

func (l *layers) flags(flags map[string]string) map[string]any {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		l.take(values, name, flags[name], diag.Position{File: "flag --" + name}, Entry.Flag)
	}
	return values
}

// take reads the text of one variable or flag into values.
func (l *layers) take(values map[string]any, name, text string, at diag.Position, named func(Entry) string) {
	var known []string
	for _, e := range Table() {
		if !e.scalar() {
			continue
		}
		if named(e) != name {
			known = append(known, named(e))
			continue
		}
		v, err := e.parse(text)
		if err != nil {
			l.list.Errorf(at, "invalid", "%s", err)
			return
		}
		values[e.Key], l.at[e.Key] = v, at
		return
	}
	if at.File != "flag --"+name {
		known = append(known, ConfigVariable, TokenVariable)
	}
	l.list.Errorf(at, "unknown-key", "there is no such setting").Hinted("%s", cmp.Or(diag.DidYouMean(name, known), "unset it, or see the reference of settings"))
}

func build(k *koanf.Koanf, base string) *Settings {
	s := &Settings{
		Listen: k.String("listen"), AdvertisedURL: k.String("advertised_url"), InsecureHTTP: k.Bool("insecure_http"),
		TLS:       TLS{Certificate: k.String("tls.certificate"), Key: k.String("tls.key")},
		StateDir:  k.String("state_dir"),
		Documents: k.Strings("documents"),
		Roots:     k.StringMap("roots"),
		Claims:    map[string]value.Field{},

		AllowDangerousGrants: k.Bool("allow_dangerous_grants"),
		Limits: Limits{
			BodyBytes: k.Int64("limits.body"), ArgumentBytes: k.Int64("limits.arguments"),
			Calls: k.Int("limits.calls"), CallsPerPrincipal: k.Int("limits.calls_per_principal"),
			Sessions: k.Int("limits.sessions"), SessionsPerPrincipal: k.Int("limits.sessions_per_principal"),
		},
		ToolGroups: k.BoolMap("tool_groups"), ToolOverrides: k.BoolMap("tool_overrides"),
		Expose: Expose(k.String("expose")), Reload: Reload(k.String("reload")),
		base: base,
	}
	s.Callers, _ = k.Get("callers").([]Caller)
	s.Approvers, _ = k.Get("approvers").([]Approver)
	for name, kind := range k.StringMap("claims") {
		s.Claims[name] = claimField(kind)
	}
	return s
}

// agree checks settings against each other, wherever they come from.
func (l *layers) agree(s *Settings) {
	secure := s.TLS.Certificate != "" && s.TLS.Key != ""
	if !secure && s.TLS != (TLS{}) {
		missing, given := "tls.key", "tls.certificate"
		if s.TLS.Certificate == "" {
			missing, given = given, missing
		}
		l.list.Errorf(l.at[given], "missing-key", "%s needs %s", given, missing)
	}
	if !secure && !s.InsecureHTTP && !loopback(s.Listen) {
		l.list.Errorf(l.at["listen"], "insecure", "listen: %s is reachable from other machines, and tokens would cross the network in the clear", s.Listen).
			Hinted("set tls, or keep 127.0.0.1, or say insecure_http: true")
	}
	if rest, plain := strings.CutPrefix(s.AdvertisedURL, "http://"); plain && !s.InsecureHTTP && !loopback(withPort(rest)) {
		l.list.Errorf(l.at["advertised_url"], "insecure", "advertised_url: clients would send tokens to %s in the clear", s.AdvertisedURL).
			Hinted("use https, or say insecure_http: true")
	}
	if s.Limits.ArgumentBytes > s.Limits.BodyBytes {
		l.list.Warnf(l.at["limits.arguments"], "unreachable", "limits.arguments is %s, but a whole request may have %s only", Size(s.Limits.ArgumentBytes), Size(s.Limits.BodyBytes)).
			Hinted("raise limits.body too")
	}
}

// withPort gives a host of a URL a port, so that it can be split.
func withPort(host string) string {
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + ":80"
}
