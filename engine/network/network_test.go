package network_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/network"
)

// answers is a resolver that gives its answers in turn and then repeats the
// last: a name that is made to point elsewhere at the second look-up.
type answers struct {
	lists [][]string
	asked int
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	list := a.lists[min(a.asked, len(a.lists)-1)]
	a.asked++
	var out []netip.Addr
	for _, one := range list {
		out = append(out, netip.MustParseAddr(one))
	}
	return out, nil
}

func TestClassify(t *testing.T) {
	for address, want := range map[string]network.Class{
		"8.8.8.8": network.Public, "1.1.1.1": network.Public, "2606:4700::1111": network.Public, "172.32.0.1": network.Public,
		"127.0.0.1": network.Loopback, "127.255.1.2": network.Loopback, "::1": network.Loopback,
		"10.0.0.1": network.Private, "172.16.0.1": network.Private, "172.31.255.255": network.Private, "192.168.1.1": network.Private,
		"fc00::1": network.Private, "fdff::1": network.Private,
		"169.254.1.1": network.Special, "100.64.0.1": network.Special, "100.127.255.255": network.Special, "192.0.0.1": network.Special,
		"198.18.0.1": network.Special, "198.19.255.255": network.Special, "192.0.2.1": network.Special, "198.51.100.1": network.Special,
		"203.0.113.1": network.Special, "240.0.0.1": network.Special, "192.88.99.1": network.Special,
		"fe80::1": network.Special, "fec0::1": network.Special, "64:ff9b::7f00:1": network.Special, "64:ff9b:1::1": network.Special,
		"2002:7f00:1::": network.Special, "2001::1": network.Special, "2001:db8::1": network.Special, "3fff::1": network.Special,
		"::ffff:127.0.0.1": network.Special, "::ffff:8.8.8.8": network.Special, "::127.0.0.1": network.Special, "100::1": network.Special,
		"4000::1": network.Special, "5f00::1": network.Special,
		"169.254.169.254": network.Metadata, "fd00:ec2::254": network.Metadata, "100.100.100.200": network.Metadata,
		"168.63.129.16": network.Metadata, "169.254.170.2": network.Metadata,
		"0.0.0.0": network.Never, "0.1.2.3": network.Never, "::": network.Never, "224.0.0.1": network.Never, "255.255.255.255": network.Never,
		"ff02::1": network.Never, "fe80::1%eth0": network.Never,
	} {
		if got := network.Classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("Classify(%s) = %d, want %d", address, got, want)
		}
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"Example.COM": "example.com", "example.com.": "example.com", "a_b.example": "a_b.example", "8.8.8.8": "8.8.8.8",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "2606:4700:0::1111": "2606:4700::1111", "1.example": "1.example",
		"": "", ".": "", "a..b": "", "-a.example": "", "bücher.example": "", "\u212aelvin.example": "", "ex ample.com": "",
		"127.1": "", "0x7f.1": "", "2130706433": "", "0x7f000001": "", "0177.0.0.1": "", "127.0.0.1.0": "", "1.2.3.256": "", "a.0x": "",
		"fe80::1%eth0": "", "::ffff:127.0.0.1": "", "127.0.0.1%25": "", "a@b": "", "a/b": "", "a\x00b": "", "１２７.0.0.1": "",
		strings.Repeat("a", 64) + ".example": "",
	} {
		got, _, err := network.Host(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Host(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestParseAllowRefuses(t *testing.T) {
	for _, word := range []string{"", "Loopback", "10.0.0.1", "::1", "10.1.2.3/16", "*.com", "*", "https://example.com", "example.com:80", "a/b", "*.*.example.com", "::ffff:0:0/96"} {
		if _, err := network.ParseAllow([]string{word}); err == nil {
			t.Errorf("ParseAllow(%q) was accepted", word)
		}
	}
}

func TestVet(t *testing.T) {
	tests := []struct {
		name, host string
		addresses  string
		allow      string
		trust, ok  bool
	}{
		{name: "public", host: "example.com", addresses: "8.8.8.8 2606:4700::1111", ok: true},
		{name: "one internal among public", host: "example.com", addresses: "8.8.8.8 10.0.0.1"},
		{name: "wrapped loopback", host: "example.com", addresses: "::ffff:127.0.0.1"},
		{name: "loopback allowed", host: "example.com", addresses: "127.0.0.1", allow: "loopback", ok: true},
		{name: "loopback does not allow private", host: "example.com", addresses: "10.0.0.1", allow: "loopback"},
		{name: "private allowed", host: "example.com", addresses: "10.0.0.1 fd12::1", allow: "private", ok: true},
		{name: "private does not allow loopback", host: "example.com", addresses: "127.0.0.1", allow: "private"},
		{name: "private does not allow metadata", host: "example.com", addresses: "fd00:ec2::254", allow: "private"},
		{name: "wide range does not allow metadata", host: "example.com", addresses: "169.254.169.254", allow: "169.254.0.0/16"},
		{name: "exact range allows metadata", host: "example.com", addresses: "169.254.169.254", allow: "169.254.169.254/32", ok: true},
		{name: "range", host: "example.com", addresses: "100.64.3.4", allow: "100.64.0.0/10", ok: true},
		{name: "translated public", host: "example.com", addresses: "64:ff9b::808:808", allow: "64:ff9b::/96", ok: true},
		{name: "translated metadata", host: "example.com", addresses: "64:ff9b::a9fe:a9fe", allow: "64:ff9b::/96"},
		{name: "translated loopback", host: "example.com", addresses: "2002:7f00:1::", allow: "2002::/16"},
		{name: "translated private, both allowed", host: "example.com", addresses: "64:ff9b::a00:1", allow: "64:ff9b::/96 private", ok: true},
		{name: "range never allows unspecified", host: "example.com", addresses: "0.0.0.0", allow: "0.0.0.0/0"},
		{name: "a name only narrows", host: "in.example.com", addresses: "10.0.0.1", allow: "in.example.com"},
		{name: "a trusted name widens", host: "in.example.com", addresses: "10.0.0.1", allow: "in.example.com", trust: true, ok: true},
		{name: "a trusted pattern widens", host: "in.example.com", addresses: "127.0.0.1", allow: "*.example.com", trust: true, ok: true},
		{name: "another trusted name", host: "example.com", addresses: "10.0.0.1", allow: "*.example.com", trust: true},
		{name: "localhost", host: "localhost", addresses: "8.8.8.8"},
		{name: "below localhost", host: "a.LOCALHOST.", addresses: "8.8.8.8"},
		{name: "localhost allowed", host: "localhost", addresses: "127.0.0.1 ::1", allow: "loopback", ok: true},
		{name: "mdns", host: "printer.local", addresses: "8.8.8.8"},
		{name: "internal", host: "db.internal", addresses: "8.8.8.8"},
		{name: "single label", host: "intranet", addresses: "8.8.8.8"},
		{name: "metadata name", host: "metadata.google.internal", addresses: "8.8.8.8", allow: "private loopback"},
		{name: "literal", host: "127.0.0.1", addresses: "8.8.8.8"},
		{name: "literal public", host: "8.8.4.4", addresses: "127.0.0.1", ok: true},
		{name: "no address", host: "example.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			allow, err := network.ParseAllow(strings.Fields(test.allow))
			if err != nil {
				t.Fatal(err)
			}
			if test.trust {
				allow = allow.TrustNames()
			}
			guard := &network.Guard{Resolver: &answers{lists: [][]string{strings.Fields(test.addresses)}}}
			vetted, err := guard.Vet(t.Context(), test.host, 443, allow)
			if (err == nil) != test.ok {
				t.Fatalf("Vet = %v, want ok %v", err, test.ok)
			}
			if err == nil && len(vetted.Addresses) == 0 {
				t.Fatal("no address")
			}
			if err != nil {
				for _, address := range strings.Fields(test.addresses) {
					if strings.Contains(err.Error(), address) {
						t.Fatalf("error tells an address: %v", err)
					}
				}
			}
		})
	}
}

// A name that changes between check and connection is dialled at the address
// that was checked.
func TestDialUsesTheVettedAddress(t *testing.T) {
	resolver := &answers{lists: [][]string{{"8.8.8.8"}, {"127.0.0.1"}}}
	var dialled []string
	guard := &network.Guard{Resolver: resolver, Connect: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		near, _ := net.Pipe()
		return near, nil
	}}
	vetted, err := guard.Vet(t.Context(), "example.com", 80, network.Allow{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := guard.Dial(t.Context(), vetted)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if len(dialled) != 1 || dialled[0] != "8.8.8.8:80" || resolver.asked != 1 {
		t.Fatalf("dialled %v after %d look-ups", dialled, resolver.asked)
	}
}

// A dialer that ends up elsewhere is noticed.
func TestDialChecksWhereItLed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	guard := &network.Guard{Connect: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}}
	vetted, err := guard.Vet(t.Context(), "8.8.8.8", 80, network.Allow{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *network.RefusedError
	if _, err := guard.Dial(t.Context(), vetted); !errors.As(err, &refused) {
		t.Fatalf("Dial = %v", err)
	}
}

func TestOwnListeners(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	own := listener.Addr().(*net.TCPAddr).AddrPort()
	allow, err := network.ParseAllow([]string{"loopback"})
	if err != nil {
		t.Fatal(err)
	}
	var listening []netip.AddrPort
	guard := &network.Guard{Own: func() []netip.AddrPort { return listening }}
	vetted, err := guard.Vet(t.Context(), "127.0.0.1", own.Port(), allow)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := guard.Dial(t.Context(), vetted)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, one := range []netip.AddrPort{own, netip.AddrPortFrom(netip.IPv4Unspecified(), own.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), own.Port())} {
		listening = []netip.AddrPort{one}
		if _, err := guard.Vet(t.Context(), "127.0.0.1", own.Port(), allow); err == nil {
			t.Errorf("own listener %s was vetted", one)
		}
		if _, err := guard.Dial(t.Context(), vetted); err == nil {
			t.Errorf("own listener %s was dialled", one)
		}
	}
	listening = []netip.AddrPort{netip.AddrPortFrom(own.Addr(), own.Port()+1)}
	if _, err := guard.Vet(t.Context(), "127.0.0.1", own.Port(), allow); err != nil {
		t.Errorf("another port was refused: %v", err)
	}
}

func TestDialErrorsNameNoAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	_ = listener.Close()
	allow, err := network.ParseAllow([]string{"loopback"})
	if err != nil {
		t.Fatal(err)
	}
	guard := &network.Guard{Resolver: &answers{lists: [][]string{{"127.0.0.1"}}}}
	vetted, err := guard.Vet(t.Context(), "example.com", port, allow)
	if err != nil {
		t.Fatal(err)
	}
	_, err = guard.Dial(t.Context(), vetted)
	var connect *network.ConnectError
	if !errors.As(err, &connect) || strings.Contains(err.Error(), "127") {
		t.Fatalf("Dial = %v", err)
	}
	if _, err := guard.Dial(t.Context(), network.Vetted{Host: "example.com"}); err == nil {
		t.Fatal("an unvetted host was dialled")
	}
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"example.com", "127.1", "0x7f.1", "::1", "EXAMPLE.com.", "a%b", "１.1.1.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		name, literal, err := network.Host(in)
		if err != nil {
			return
		}
		again, other, err := network.Host(name)
		if err != nil || again != name || other != literal {
			t.Fatalf("Host(%q) = %q, then %q, %v", in, name, again, err)
		}
		if address, err := netip.ParseAddr(name); (err == nil) != literal.IsValid() || err == nil && address != literal {
			t.Fatalf("Host(%q) = %q but literal %v", in, name, literal)
		}
	})
}
