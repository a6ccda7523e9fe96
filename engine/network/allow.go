package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Allow is what a document permits beyond public addresses. The zero value
// permits nothing more. It is never changed after ParseAllow.
type Allow struct {
	loopback, private bool
	names             []string // exact, or a suffix that begins with "."
	ranges            []netip.Prefix
	trusted           bool
}

// ParseAllow reads the words of an allow list: loopback (this machine),
// private (RFC 1918 and unique local addresses), a host name, every host
// below a name as *.example.com, or a range such as 10.1.0.0/16. An error
// names the word and says what would be right.
func ParseAllow(words []string) (Allow, error) {
	var allow Allow
	for _, word := range words {
		if err := allow.add(word); err != nil {
			return Allow{}, fmt.Errorf("allow %q: %w", word, err)
		}
	}
	return allow, nil
}

func (a *Allow) add(word string) error {
	switch {
	case word == "loopback":
		a.loopback = true
	case word == "private":
		a.private = true
	case strings.Contains(word, "/"):
		prefix, err := netip.ParsePrefix(word)
		if err != nil || prefix != prefix.Masked() || prefix.Addr().Is4In6() {
			return fmt.Errorf("write a range such as 10.1.0.0/16, with no bit set after its length")
		}
		a.ranges = append(a.ranges, prefix)
	default:
		name, wild := strings.CutPrefix(word, "*.")
		host, literal, err := Host(name)
		switch {
		case err != nil || host != name:
			return fmt.Errorf("write loopback, private, a lower-case host name, *.example.com or a range such as 10.1.0.0/16")
		case literal.IsValid():
			return fmt.Errorf("write a single address as a range: %s/%d", host, literal.BitLen())
		case wild && !strings.Contains(host, "."):
			return fmt.Errorf("a pattern needs at least two labels after the star, such as *.example.com")
		case wild:
			host = "." + host
		}
		a.names = append(a.names, host)
	}
	return nil
}

// TrustNames returns a copy in which a host that is named may lead to this
// machine or to private addresses. It is for addresses that a document fixes;
// where the caller chooses the host, names only narrow (see Names).
func (a Allow) TrustNames() Allow {
	a.trusted = true
	return a
}

// Names reports whether the list names hosts at all.
func (a Allow) Names() bool { return len(a.names) > 0 }

// Has reports whether a host, as Host returned it, is named.
func (a Allow) Has(host string) bool {
	return slices.ContainsFunc(a.names, func(name string) bool {
		return name == host || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name) && len(host) > len(name)
	})
}

// admits decides for an address that is not public.
func (a Allow) admits(host string, address netip.Addr, class Class) bool {
	if class == Never {
		return false
	}
	for _, prefix := range a.ranges {
		// A wide range may hold a metadata service by accident.
		if prefix.Contains(address) && (class != Metadata || prefix.IsSingleIP()) {
			return true
		}
	}
	named := a.trusted && a.Has(host)
	return class == Loopback && (a.loopback || named) || class == Private && (a.private || named)
}

// refuseName says why a host name may not even be looked up, or "".
func (a Allow) refuseName(host string) string {
	if a.trusted && slices.Contains(a.names, host) {
		return ""
	}
	switch {
	case isMetadata(host):
		return "it is a cloud metadata service"
	case host == "localhost" || below(host, "localhost") || host == "localhost.localdomain":
		if !a.loopback {
			return "it is this machine (allow loopback to permit it)"
		}
	case !strings.Contains(host, ".") || below(host, "local", "internal", "localdomain", "home.arpa"):
		if !a.private && !a.Has(host) && len(a.ranges) == 0 {
			return "the name is not a public one (allow private to permit it)"
		}
	}
	return ""
}

func isMetadata(host string) bool {
	switch host {
	case "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
		"metadata.tencentyun.com", "metadata.azure.internal", "metadata.platformequinix.com":
		return true
	}
	return false
}

func below(host string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool { return strings.HasSuffix(host, "."+domain) })
}

// Host brings a host into its one form: lower case, without a final dot. For
// an address it also returns the address. What could be read in two ways is an
// error: old spellings of IPv4 such as 127.1 or 0x7f000001, zones, IPv4 inside
// IPv6, and names outside ASCII.
func Host(host string) (name string, literal netip.Addr, err error) {
	// Only ASCII is folded: a few characters of other scripts fold into it.
	name = strings.Map(lower, strings.TrimSuffix(host, "."))
	if strings.Contains(name, ":") {
		address, err := netip.ParseAddr(name)
		if err != nil || address.Zone() != "" || address.Is4In6() {
			return "", netip.Addr{}, fmt.Errorf("write a plain IPv6 address without zone or IPv4 part")
		}
		return address.String(), address, nil
	}
	if len(name) == 0 || len(name) > 253 {
		return "", netip.Addr{}, fmt.Errorf("a host name has 1 to 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", netip.Addr{}, fmt.Errorf("a host name consists of letters, digits, - and dots (write other scripts as xn--…)")
		}
	}
	if !looksNumeric(labels[len(labels)-1]) {
		return name, netip.Addr{}, nil
	}
	address, err := netip.ParseAddr(name)
	if err != nil {
		return "", netip.Addr{}, fmt.Errorf("write an IPv4 address as four decimal numbers")
	}
	return name, address, nil
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func isLabel(label string) bool {
	if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// looksNumeric reports whether some resolver would take a name that ends in
// this label for an IPv4 address.
func looksNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
