package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Hosts knows by which names a listener may be addressed (S-14): the address
// that it is bound to, 127.0.0.1, localhost and [::1] with its port, the
// address on which the connection came in, and the advertised origins. A web
// page that resolves its own name to our address does not know any of them.
type Hosts struct {
	authorities map[string]bool
	origins     map[string]bool
	scheme      string
}

// HostOptions says how a listener is reached.
type HostOptions struct {
	Bound net.Addr
	TLS   bool
	// Advertised lists bare origins such as https://writ.example.com (S-08).
	Advertised []string
	// Origins lists further web origins whose pages may call.
	Origins []string
}

// NewHosts checks the origins and collects the names.
func NewHosts(o HostOptions) (*Hosts, error) {
	h := &Hosts{authorities: map[string]bool{}, origins: map[string]bool{}, scheme: "http"}
	if o.TLS {
		h.scheme = "https"
	}
	_, port, err := net.SplitHostPort(o.Bound.String())
	if err != nil {
		return nil, fmt.Errorf("read bound address %q: %w", o.Bound, err)
	}
	for _, name := range []string{o.Bound.String(), "127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port} {
		h.add(h.scheme, name)
	}
	for _, origin := range o.Advertised {
		u, err := parseOrigin(origin)
		if err != nil {
			return nil, fmt.Errorf("advertised url: %w", err)
		}
		h.add(u.Scheme, u.Host)
	}
	for _, origin := range o.Origins {
		u, err := parseOrigin(origin)
		if err != nil {
			return nil, fmt.Errorf("allowed origin: %w", err)
		}
		h.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
	}
	return h, nil
}

// add allows an authority, with and without the port when that is the default
// of the scheme, because clients leave it out.
func (h *Hosts) add(scheme, authority string) {
	authority = strings.ToLower(authority)
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	bare := strings.TrimSuffix(authority, port)
	names := []string{authority, bare}
	if _, _, err := net.SplitHostPort(bare); err != nil {
		names = append(names, bare+port)
	}
	for _, name := range names {
		h.authorities[name] = true
		h.origins[scheme+"://"+name] = true
	}
}

// check returns "" or which header is wrong.
func (h *Hosts) check(r *http.Request) string {
	local := ""
	host := strings.ToLower(r.Host)
	if !h.authorities[host] {
		if local = localAuthority(r); local == "" || host != local {
			return "host"
		}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return ""
	}
	origin := strings.ToLower(origins[0])
	if len(origins) > 1 || !h.origins[origin] && (local == "" || origin != h.scheme+"://"+local) {
		return "origin"
	}
	return ""
}

// localAuthority is the literal address that the client connected to. It is
// safe to accept: rebinding needs a name.
func localAuthority(r *http.Request) string {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || tcp == nil {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	return net.JoinHostPort(ip.String(), strconv.Itoa(tcp.Port))
}

// parseOrigin accepts a bare http or https origin (S-08).
func parseOrigin(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q is not an origin: write it like https://writ.example.com", text)
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%q has more than scheme, host and port: leave the rest out", text)
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("%q is no address that a client can reach: name one", text)
	}
	return u, nil
}
