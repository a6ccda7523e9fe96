package argument

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// formats lists the formats that are asserted, in the order of the manual.
func formats() []string {
	return []string{"path", "uri", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "regex", "uuid", "decimal"}
}

// formatCheck returns the check of a format, or nil when there is none of
// that name.
func formatCheck(name string) func(string) error {
	switch name {
	case "path":
		return checkPath
	case "uri":
		return checkURI
	case "date-time":
		return checkDateTime
	case "duration":
		return checkDuration
	case "email":
		return checkEmail
	case "hostname":
		return checkHostname
	case "ipv4":
		return checkIPv4
	case "ipv6":
		return checkIPv6
	case "regex":
		return checkRegex
	case "uuid":
		return checkUUID
	case "decimal":
		return checkDecimal
	}
	return nil
}

// checkPath asserts what holds for a path of any root; package root resolves.
func checkPath(s string) error {
	if s == "" {
		return errors.New("is an empty path")
	}
	if len(s) > 4096 {
		return errors.New("is longer than 4096 bytes")
	}
	return nil
}

// checkURI wants an absolute URI (RFC 3986): ASCII, a scheme, and none of the
// characters that the grammar excludes.
func checkURI(s string) error {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return errors.New("is not an absolute URI: a character must be percent-encoded")
		}
	}
	u, err := url.Parse(s)
	if err != nil || !u.IsAbs() {
		return errors.New("is not an absolute URI such as https://example.com/a")
	}
	if host := u.Hostname(); strings.Contains(host, ":") && checkIPv6(host) != nil {
		return errors.New("is not an absolute URI: its IPv6 address is wrong")
	}
	return nil
}

func checkDateTime(s string) error {
	// Parse reads a comma before fractions as a dot; RFC 3339 has none.
	if _, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s)); err != nil || strings.Contains(s, ",") {
		return errors.New("is not a date-time such as 2026-12-01T10:00:00Z")
	}
	return nil
}

// checkDuration wants ISO 8601 as RFC 3339 appendix A has it: units in order,
// none left out between two.
func checkDuration(s string) error {
	wrong := errors.New("is not an ISO 8601 duration such as PT30S or P1DT12H")
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" {
		return wrong
	}
	if weeks, ok := strings.CutSuffix(rest, "W"); ok {
		if units(weeks+"W", "W") {
			return nil
		}
		return wrong
	}
	date, clock, hasClock := strings.Cut(rest, "T")
	if hasClock && clock == "" || date != "" && !units(date, "YMD") || clock != "" && !units(clock, "HMS") {
		return wrong
	}
	return nil
}

// units reports whether text is numbers with units that follow each other in
// the given order.
func units(text, order string) bool {
	last := -1
	for text != "" {
		rest := strings.TrimLeft(text, "0123456789")
		if rest == text || rest == "" {
			return false
		}
		at := strings.IndexByte(order, rest[0])
		if at < 0 || last >= 0 && at != last+1 {
			return false
		}
		last, text = at, rest[1:]
	}
	return true
}

func checkEmail(s string) error {
	wrong := errors.New("is not an email address")
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 254 {
		return wrong
	}
	local := s[:at]
	if local[0] == '.' || local[at-1] == '.' || strings.Contains(local, "..") {
		return wrong
	}
	for i := 0; i < len(local); i++ {
		if c := local[i]; !alphanumeric(c) && strings.IndexByte(".!#$%&'*+-/=?^_`{|}~", c) < 0 {
			return wrong
		}
	}
	if checkHostname(s[at+1:]) != nil {
		return wrong
	}
	return nil
}

func checkHostname(s string) error {
	wrong := errors.New("is not a host name")
	if s == "" || len(s) > 253 {
		return wrong
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return wrong
		}
		for i := 0; i < len(label); i++ {
			if !alphanumeric(label[i]) && label[i] != '-' {
				return wrong
			}
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func checkIPv4(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return errors.New("is not an IPv4 address")
	}
	return nil
}

func checkIPv6(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is6() || a.Zone() != "" {
		return errors.New("is not an IPv6 address")
	}
	return nil
}

func checkRegex(s string) error {
	if _, err := regexp.Compile(s); err != nil {
		return errors.New("is not a regular expression (RE2)")
	}
	return nil
}

func checkUUID(s string) error {
	wrong := errors.New("is not a UUID")
	if len(s) != 36 {
		return wrong
	}
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if s[i] != '-' {
				return wrong
			}
		case (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f'):
			return wrong
		}
	}
	return nil
}

// decimalPattern says in a schema what checkDecimal asserts.
const decimalPattern = `^-?(0|[1-9][0-9]{0,37})(\.[0-9]{1,38})?$`

// checkDecimal wants an exact number in plain notation, at most 38 digits on
// either side of the point.
func checkDecimal(s string) error {
	wrong := errors.New("is not a decimal number such as 12.50")
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || len(whole) > 38 || len(fraction) > 38 ||
		point && fraction == "" || len(whole) > 1 && whole[0] == '0' {
		return wrong
	}
	return nil
}
