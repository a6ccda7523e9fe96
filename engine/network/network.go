// Package network answers one question: may this address be dialled?
//
// A Guard turns a host and a port into addresses, checks every one of them,
// and dials exactly an address that it checked: there is no second look-up in
// between that could answer something else. Whatever is not plainly public is
// refused unless an Allow names it, and Writ's own listeners are refused
// always. Proxies of the environment are never used. Errors are for callers to
// read: they name the host that was asked for and never an address that it led
// to. The package speaks no protocol above TCP and knows nothing of tools.
package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

// AddressLimit is how many addresses of one host are used; the rest is
// checked and then left alone.
const AddressLimit = 8

// attempt bounds one connection try, so that a silent address leaves time for
// the next one.
const attempt = 10 * time.Second

// Resolver looks up the addresses of a host name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc opens a connection to a literal address.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Guard decides which addresses may be dialled, and dials them. The zero
// value is ready to use; it is not changed after it is first used.
type Guard struct {
	// Resolver is net.DefaultResolver when nil.
	Resolver Resolver
	// Connect replaces the dialer of the operating system in tests.
	Connect DialFunc
	// Own lists the addresses on which Writ itself listens at the moment. An
	// unspecified address stands for all addresses of this machine.
	Own func() []netip.AddrPort
}

// Vetted is a host whose addresses were all checked.
type Vetted struct {
	Host      string // as Host returned it
	Port      uint16
	Addresses []netip.AddrPort // at least one, at most AddressLimit
	allow     Allow
}

// RefusedError says that a host or one of its addresses may not be dialled.
type RefusedError struct {
	Host string
	Why  string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("host %s is refused: %s", e.Host, e.Why) }

// ConnectError says that a host could not be resolved or reached. Nothing was
// sent when it is returned.
type ConnectError struct {
	Host    string
	Why     string
	Timeout bool
}

func (e *ConnectError) Error() string { return fmt.Sprintf("connect to %s: %s", e.Host, e.Why) }

// Check is Vet without a look-up: it refuses what can be refused by the
// spelling of the host alone. Use it where nothing may be fetched.
func (g *Guard) Check(host string, port uint16, allow Allow) (string, error) {
	name, literal, err := Host(host)
	if err != nil {
		return "", &RefusedError{Host: quoteHost(host), Why: err.Error()}
	}
	if literal.IsValid() {
		return name, g.checkAddress(name, netip.AddrPortFrom(literal, port), allow)
	}
	if why := allow.refuseName(name); why != "" {
		return "", &RefusedError{Host: name, Why: why}
	}
	return name, nil
}

// Vet resolves a host and checks every address of it. One refused address
// refuses the host: an answer that mixes public and internal addresses is how
// names are made to point inwards.
func (g *Guard) Vet(ctx context.Context, host string, port uint16, allow Allow) (Vetted, error) {
	name, err := g.Check(host, port, allow)
	if err != nil {
		return Vetted{}, err
	}
	vetted := Vetted{Host: name, Port: port, allow: allow}
	if literal, err := netip.ParseAddr(name); err == nil {
		vetted.Addresses = []netip.AddrPort{netip.AddrPortFrom(literal, port)}
		return vetted, nil
	}
	found, err := g.resolver().LookupNetIP(ctx, "ip", name)
	if err != nil {
		return Vetted{}, lookupError(name, err)
	}
	for _, address := range found {
		// The resolver may wrap an IPv4 address; what is dialled is the IPv4 address.
		full := netip.AddrPortFrom(address.Unmap(), port)
		if err := g.checkAddress(name, full, allow); err != nil {
			return Vetted{}, err
		}
		if len(vetted.Addresses) < AddressLimit {
			vetted.Addresses = append(vetted.Addresses, full)
		}
	}
	if len(vetted.Addresses) == 0 {
		return Vetted{}, &ConnectError{Host: name, Why: "the name has no address"}
	}
	return vetted, nil
}

// Dial connects to the first address that answers. Every address is checked
// again, because Writ may have begun to listen on it meanwhile.
func (g *Guard) Dial(ctx context.Context, to Vetted) (net.Conn, error) {
	if len(to.Addresses) == 0 {
		return nil, &RefusedError{Host: quoteHost(to.Host), Why: "it was not checked"}
	}
	var last error
	for _, address := range to.Addresses {
		if err := g.checkAddress(to.Host, address, to.allow); err != nil {
			return nil, err
		}
		conn, err := g.dialOne(ctx, to, address)
		if err == nil {
			return conn, nil
		}
		last = err
		var refused *RefusedError
		if errors.As(err, &refused) || ctx.Err() != nil {
			break
		}
	}
	return nil, connectError(ctx, to.Host, last)
}

func (g *Guard) dialOne(ctx context.Context, to Vetted, address netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	dial := g.Connect
	if dial == nil {
		dialer := &net.Dialer{ControlContext: func(_ context.Context, _, socket string, _ syscall.RawConn) error {
			return g.recheck(to, address, socket)
		}}
		dial = dialer.DialContext
	}
	conn, err := dial(ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	if remote := conn.RemoteAddr(); remote != nil && remote.Network() == "tcp" {
		if err := g.recheck(to, address, remote.String()); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// recheck holds what the operating system is about to connect against what
// was vetted.
func (g *Guard) recheck(to Vetted, vetted netip.AddrPort, socket string) error {
	actual, err := netip.ParseAddrPort(socket)
	if err != nil || netip.AddrPortFrom(actual.Addr().Unmap(), actual.Port()) != vetted {
		return &RefusedError{Host: to.Host, Why: "the connection led to another address than the one that was checked"}
	}
	return g.checkAddress(to.Host, vetted, to.allow)
}

func (g *Guard) resolver() Resolver {
	if g.Resolver != nil {
		return g.Resolver
	}
	return net.DefaultResolver
}

func (g *Guard) checkAddress(host string, address netip.AddrPort, allow Allow) error {
	if g.isOwn(address) {
		return &RefusedError{Host: host, Why: "Writ itself listens there"}
	}
	if inner, ok := translated(address.Addr()); ok { // a range that is allowed must not lead where nothing is
		if err := g.checkAddress(host, netip.AddrPortFrom(inner, address.Port()), allow); err != nil {
			return err
		}
	}
	class := Classify(address.Addr())
	if class == Public || allow.admits(host, address.Addr(), class) {
		return nil
	}
	return &RefusedError{Host: host, Why: "it leads to " + class.describe()}
}

// isOwn reports whether a connection to the address would reach Writ.
func (g *Guard) isOwn(address netip.AddrPort) bool {
	if g.Own == nil {
		return false
	}
	for _, own := range g.Own() {
		if own.Port() != address.Port() {
			continue
		}
		local := own.Addr().Unmap().WithZone("")
		if local == address.Addr() || local.IsUnspecified() && isLocal(address.Addr()) {
			return true
		}
	}
	return false
}

// isLocal reports whether an address belongs to this machine. When the system
// does not say, every address might.
func isLocal(address netip.Addr) bool {
	if address.IsLoopback() || address.IsUnspecified() {
		return true
	}
	found, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, one := range found {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().WithZone("") == address {
			return true
		}
	}
	return false
}

func lookupError(host string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return &ConnectError{Host: host, Why: "no such host"}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &dns) && dns.IsTimeout:
		return &ConnectError{Host: host, Why: "looking up the name timed out", Timeout: true}
	}
	return &ConnectError{Host: host, Why: "the name could not be looked up"}
}

func connectError(ctx context.Context, host string, err error) error {
	var refused *RefusedError
	var operation net.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(ctx.Err(), context.Canceled):
		return &ConnectError{Host: host, Why: "cancelled"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &operation) && operation.Timeout():
		return &ConnectError{Host: host, Why: "timed out", Timeout: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &ConnectError{Host: host, Why: "connection refused"}
	}
	return &ConnectError{Host: host, Why: "not reachable"}
}

// quoteHost makes a host that did not parse safe to print.
func quoteHost(host string) string {
	if len(host) > 64 {
		host = strings.ToValidUTF8(host[:64], "") + "…"
	}
	return fmt.Sprintf("%q", host)
}
