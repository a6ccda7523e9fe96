package argument

import (
	"net/netip"
	"strings"
)

// spelling returns what brings a valid text of a format to its one spelling,
// or nil when there is nothing to bring. A name that programs read without
// regard to case must not be two texts to rules and grants.
func spelling(format string) func(string) string {
	switch format {
	case "hostname", "uuid":
		return strings.ToLower
	case "ipv6":
		return spellIPv6
	case "email":
		return spellEmail
	case "uri":
		return spellURI
	}
	return nil
}

func spellIPv6(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	return s
}

// spellEmail leaves the local part alone: only its host may know its case.
func spellEmail(s string) string {
	at := strings.LastIndexByte(s, '@') + 1
	return s[:at] + strings.ToLower(s[at:])
}

// spellURI lowers scheme and host (RFC 3986, 6.2.2.1).
func spellURI(s string) string {
	scheme, rest, _ := strings.Cut(s, ":")
	scheme = strings.ToLower(scheme) + ":"
	authority, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return scheme + rest
	}
	end := strings.IndexAny(authority, "/?#")
	if end < 0 {
		end = len(authority)
	}
	host := strings.LastIndexByte(authority[:end], '@') + 1
	return scheme + "//" + authority[:host] + strings.ToLower(authority[host:end]) + authority[end:]
}
