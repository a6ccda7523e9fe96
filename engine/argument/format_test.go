package argument

import (
	"strings"
	"testing"
)

func TestFormats(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, words := range map[string]struct{ good, bad []string }{
		"path":      {[]string{"a", "/a/b", ".."}, []string{"", strings.Repeat("a", 4097)}},
		"uri":       {[]string{"https://example.com/a?b#c", "mailto:a@example.com", "http://[::1]:80/"}, []string{"", "a/b", "//example.com", "http://a b", "http://exämple.com", "http://a\\b", "http://[::1", "http://a/%zz"}},
		"date-time": {[]string{"2026-12-01T10:00:00Z", "2026-12-01t10:00:00.5+01:00"}, []string{"2026-12-01", "2026-13-01T10:00:00Z", "2026-12-01T10:00:00", "2026-12-01T10:00:00,5Z", "2026-12-01T25:00:00Z"}},
		"duration":  {[]string{"P1D", "PT30S", "P1Y2M3DT4H5M6S", "P2W", "PT1H30M"}, []string{"", "P", "PT", "1D", "P1", "P1Y3D", "PT1S1H", "P1W1D", "P1.5D", "10s"}},
		"email":     {[]string{"a@example.com", "a.b+c@example.com"}, []string{"", "a", "@example.com", "a@", ".a@example.com", "a..b@example.com", "a b@example.com", long + "x@example.com", "ä@example.com"}},
		"hostname":  {[]string{"example.com", "a-b", "1.2.3.4"}, []string{"", "-a", "a-", "a..b", "a_b", "exämple.com", long + ".com", "a.", strings.Repeat("a.", 130) + "a"}},
		"ipv4":      {[]string{"192.0.2.1"}, []string{"", "192.0.2", "192.0.2.256", "192.0.2.01", "::1", "::ffff:192.0.2.1"}},
		"ipv6":      {[]string{"::1", "2001:db8::1", "::ffff:192.0.2.1"}, []string{"", "192.0.2.1", "fe80::1%eth0", ":::"}},
		"regex":     {[]string{"", "^a+$"}, []string{"(", "(?=a)", `(a)\1`}},
		"uuid":      {[]string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"}, []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456\r426614174000"}},
		"decimal":   {[]string{"0", "-12.50", "0.10", strings.Repeat("9", 38)}, []string{"", "-", "1.", ".5", "01", "1e3", "+1", "1,5", " 1", "٣", strings.Repeat("9", 39)}},
	} {
		check := formatCheck(name)
		for _, s := range words.good {
			if err := check(s); err != nil {
				t.Errorf("%s: %q is one: %v", name, s, err)
			}
		}
		for _, s := range words.bad {
			if check(s) == nil {
				t.Errorf("%s: %q is none", name, s)
			}
		}
	}
	for _, name := range formats() {
		if formatCheck(name) == nil {
			t.Errorf("format %s is listed and not asserted", name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]any{
		"0": int64(0), "-0": int64(0), "-0.0e5": int64(0), "0e99999999999": int64(0), "5.0": int64(5), "1e3": int64(1000), "120e-1": int64(12),
		"9223372036854775807": int64(9223372036854775807), "-9223372036854775808": int64(-9223372036854775808),
		"922337203685477580.7e1": int64(9223372036854775807), "0.1": 0.1, "1.50": 1.5, "-2.5e-3": -0.0025, "5e-324": 5e-324,
		"9223372036854775808": errRange, "1e19": errRange, "1e400": errRange, "1e99999999999999999999": errRange,
		"0.30000000000000004": 0.30000000000000004, "0.1000000000000000055": errDigits, "1e-400": errDigits, "4503599627370497.25": errDigits,
	} {
		if n := numberLength([]byte(text)); n != len(text) {
			t.Errorf("%s: %d bytes are a number", text, n)
		}
		got, err := parseNumber([]byte(text))
		if err != nil {
			got = err
		}
		if got != want {
			t.Errorf("%s: got %v (%T), want %v", text, got, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "-": 0, "01": 1, "1.": 0, ".5": 0, "1e": 0, "1e+": 0, "+1": 0, "0x1": 1, "1_0": 1, "Infinity": 0} {
		if got := numberLength([]byte(text)); got != want {
			t.Errorf("%q: %d bytes are a number, want %d", text, got, want)
		}
	}
}
