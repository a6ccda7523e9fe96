package network

import "net/netip"

// Class says what an address is for.
type Class int

// The classes. Everything but Public is refused unless it is allowed, and
// Never cannot be allowed.
const (
	Public Class = iota
	Loopback
	Private
	Special  // link-local, shared, documentation, benchmark, translation …
	Metadata // where clouds hand out credentials
	Never    // unspecified, multicast, broadcast
)

func (c Class) describe() string {
	switch c {
	case Loopback:
		return "this machine (allow loopback to permit it)"
	case Private:
		return "a private network (allow private to permit it)"
	case Metadata:
		return "a cloud metadata service"
	case Never:
		return "an address that no service has"
	}
	return "an address that is not public (allow its range to permit it)"
}

// Classify sorts an address by the registries of special-purpose addresses
// (RFC 6890 and its successors). An IPv6 address is public only inside
// 2000::/3, so that what nobody has thought of is not.
func Classify(address netip.Addr) Class {
	if address.Zone() != "" || !address.IsValid() {
		return Never
	}
	for _, entry := range ranges() {
		if entry.prefix.Contains(address) {
			return entry.class
		}
	}
	if address.Is4() || netip.PrefixFrom(v6(0x20), 3).Contains(address) {
		return Public
	}
	return Special
}

type special struct {
	prefix netip.Prefix
	class  Class
}

// ranges is ordered: the first that contains an address decides.
func ranges() [34]special {
	return [...]special{
		{v4(169, 254, 169, 254, 32), Metadata},
		{v4(169, 254, 169, 253, 32), Metadata},
		{v4(169, 254, 170, 2, 32), Metadata},
		{v4(169, 254, 170, 23, 32), Metadata},
		{v4(168, 63, 129, 16, 32), Metadata},
		{v4(100, 100, 100, 200, 32), Metadata},
		{v4(192, 0, 0, 192, 32), Metadata},
		{netip.PrefixFrom(v6(0xfd, 0x00, 0x0e, 0xc2), 32), Metadata},
		{netip.PrefixFrom(v6(0xfd, 0x20, 0x0c, 0xe0), 32), Metadata},

		{v4(0, 0, 0, 0, 8), Never},
		{v4(224, 0, 0, 0, 4), Never},
		{v4(255, 255, 255, 255, 32), Never},
		{netip.PrefixFrom(netip.IPv6Unspecified(), 128), Never},
		{netip.PrefixFrom(v6(0xff), 8), Never},

		{v4(127, 0, 0, 0, 8), Loopback},
		{netip.PrefixFrom(netip.IPv6Loopback(), 128), Loopback},
		{v4(10, 0, 0, 0, 8), Private},
		{v4(172, 16, 0, 0, 12), Private},
		{v4(192, 168, 0, 0, 16), Private},
		{netip.PrefixFrom(v6(0xfc), 7), Private},

		{v4(100, 64, 0, 0, 10), Special},
		{v4(169, 254, 0, 0, 16), Special},
		{v4(192, 0, 0, 0, 24), Special},
		{v4(192, 0, 2, 0, 24), Special},
		{v4(192, 88, 99, 0, 24), Special},
		{v4(198, 18, 0, 0, 15), Special},
		{v4(198, 51, 100, 0, 24), Special},
		{v4(203, 0, 113, 0, 24), Special},
		{v4(240, 0, 0, 0, 4), Special},
		// Inside 2000::/3: protocol assignments with Teredo and ORCHID,
		// documentation, 6to4. NAT64, mapped, site-local and link-local
		// addresses are outside and need no line.
		{netip.PrefixFrom(v6(0x20, 0x01), 23), Special},
		{netip.PrefixFrom(v6(0x20, 0x01, 0x0d, 0xb8), 32), Special},
		{netip.PrefixFrom(v6(0x20, 0x02), 16), Special},
		{netip.PrefixFrom(v6(0x3f, 0xff), 20), Special},
		{netip.PrefixFrom(v6(0x3f, 0xfe), 16), Special},
	}
}

// translated returns the IPv4 address to which a gateway of the network would
// pass on what is sent to an address of NAT64 or 6to4.
func translated(address netip.Addr) (inner netip.Addr, ok bool) {
	all := address.As16()
	switch {
	case netip.PrefixFrom(v6(0, 0x64, 0xff, 0x9b), 96).Contains(address):
		return netip.AddrFrom4([4]byte(all[12:])), true
	case netip.PrefixFrom(v6(0x20, 0x02), 16).Contains(address):
		return netip.AddrFrom4([4]byte(all[2:6])), true
	}
	return netip.Addr{}, false
}

func v4(a, b, c, d byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c, d}), bits)
}

func v6(first ...byte) netip.Addr {
	var all [16]byte
	copy(all[:], first)
	return netip.AddrFrom16(all)
}
