package httpcall

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/template"
)

// target is an address with slots. Either caller is set, and the whole address
// is an argument, or the other fields are, and slots fill only places that
// cannot reach beyond their own.
type target struct {
	caller    *template.Template
	scheme    string
	authority *template.Template
	segments  []*template.Template // of the path, between slashes
	pairs     []*template.Template // of the query, between ampersands
	params    []field
}

// fixedHost reports whether no argument has a say in the host.
func (t target) fixedHost() bool {
	if t.caller != nil || t.authority == nil {
		return false
	}
	_, literal := t.authority.Literal()
	return literal
}

// render gives the address of one call.
func (t target) render(lookup template.Lookup) (*url.URL, error) {
	if t.caller != nil {
		text, err := t.caller.Text(lookup)
		if err != nil {
			return nil, err
		}
		address, err := ParseURL(text)
		if err != nil {
			return nil, err
		}
		return address, t.addParams(address, lookup)
	}
	authority, err := t.authority.TextWith(lookup, hostPart)
	if err != nil {
		return nil, err
	}
	var path strings.Builder
	for _, segment := range t.segments {
		text, err := segment.TextWith(lookup, pathPart)
		if err == nil && len(segment.Slots()) > 0 {
			err = checkSegment(text)
		}
		if err != nil {
			return nil, err
		}
		path.WriteString("/" + text)
	}
	var pairs []string
	for _, pair := range t.pairs {
		text, err := pair.TextWith(lookup, queryPart)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, text)
	}
	text := t.scheme + "://" + authority + path.String()
	if len(pairs) > 0 {
		text += "?" + strings.Join(pairs, "&")
	}
	address, err := ParseURL(text)
	if err != nil {
		return nil, err
	}
	return address, t.addParams(address, lookup)
}

// addParams appends the query of the document to that of the address.
func (t target) addParams(address *url.URL, lookup template.Lookup) error {
	pairs, err := renderPairs(t.params, lookup)
	if err != nil || pairs == "" {
		return err
	}
	if address.RawQuery != "" {
		pairs = address.RawQuery + "&" + pairs
	}
	address.RawQuery = pairs
	if len(address.RequestURI()) > urlLimit {
		return fmt.Errorf("the URL is longer than %d KiB", urlLimit>>10)
	}
	return nil
}

// renderPairs encodes names and values. A list repeats its name; an absent
// value removes it.
func renderPairs(fields []field, lookup template.Lookup) (string, error) {
	var pairs []string
	for _, f := range fields {
		texts, err := renderTexts(f.value, lookup)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.name, err)
		}
		for _, text := range texts {
			pairs = append(pairs, url.QueryEscape(f.name)+"="+url.QueryEscape(text))
		}
	}
	return strings.Join(pairs, "&"), nil
}

func hostPart(part template.Part, text string) (string, error) {
	host, literal, err := network.Host(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", part.Name(), err)
	}
	if literal.Is6() {
		return "[" + host + "]", nil
	}
	return host, nil
}

func pathPart(part template.Part, text string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("%s: an empty text would remove a part of the path", part.Name())
	}
	if strings.ContainsFunc(text, isControl) {
		return "", fmt.Errorf("%s: a path holds no control characters", part.Name())
	}
	return url.PathEscape(text), nil
}

func queryPart(_ template.Part, text string) (string, error) { return url.QueryEscape(text), nil }

// checkSegment refuses a segment that a server might take for a step upwards:
// as it stands, or after decoding it again, as some proxies do.
func checkSegment(segment string) error {
	for range 4 {
		decoded := decode(segment)
		for piece := range strings.FieldsFuncSeq(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
			piece, _, _ = strings.Cut(piece, ";")
			if piece == "." || piece == ".." {
				return errors.New("a value would lead to another path: it holds a step of one or two dots")
			}
		}
		if decoded == segment {
			return nil
		}
		segment = decoded
	}
	return errors.New("a value is percent-encoded too often")
}

// decode decodes what can be decoded and leaves the rest, as a lenient server
// would.
func decode(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// ParseURL reads an address (T-31): http or https, no credentials, no
// fragment, a host that can be read in one way only. The host comes back in
// its one form, without the default port.
func ParseURL(text string) (*url.URL, error) {
	switch {
	case len(text) > urlLimit:
		return nil, fmt.Errorf("the URL is longer than %d KiB", urlLimit>>10)
	case strings.ContainsFunc(text, func(r rune) bool { return isControl(r) || r == ' ' || r == '\\' }):
		return nil, errors.New("the URL holds a space, a backslash or a control character")
	case strings.Contains(text, "#"):
		return nil, errors.New("the URL has a fragment, leave out # and what follows")
	}
	address, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the URL cannot be read, write it as https://example.com/path")
	}
	switch {
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, errors.New("the URL must begin with http:// or https://")
	case address.User != nil:
		return nil, errors.New("the URL holds credentials, leave them out")
	case address.Opaque != "" || address.Host == "":
		return nil, errors.New("the URL names no host")
	}
	if address.Host, err = canonicalHost(address); err != nil {
		return nil, err
	}
	if address.Path == "" {
		address.Path = "/"
	}
	return address, nil
}

func canonicalHost(address *url.URL) (string, error) {
	host, literal, err := network.Host(address.Hostname())
	if err != nil {
		return "", fmt.Errorf("the host of the URL: %w", err)
	}
	if strings.HasSuffix(address.Host, ":") {
		return "", errors.New("the port of the URL is missing")
	}
	if literal.Is6() {
		host = "[" + host + "]"
	}
	port := address.Port()
	if port == "" {
		return host, nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", errors.New("the port of the URL must be 1 to 65535")
	}
	if uint16(number) == defaultPort(address.Scheme) {
		return host, nil
	}
	return host + ":" + strconv.FormatUint(number, 10), nil
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// hostPort takes a canonical address apart.
func hostPort(address *url.URL) (string, uint16) {
	number, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		return address.Hostname(), defaultPort(address.Scheme)
	}
	return address.Hostname(), uint16(number)
}

// parseTarget splits an address, as its author wrote it, so that every slot
// has one place. No path of a slot holds any of the characters at which it is
// split.
func parseTarget(text string, parse func(string) *template.Template) (target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return target{}, errors.New("it must begin with http:// or https://, or be one slot")
	}
	if strings.Contains(rest, "#") {
		return target{}, errors.New("it has a fragment, leave out # and what follows")
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return target{}, errors.New("it holds credentials, put them into a Secret and a Connection")
	}
	t := target{scheme: scheme, authority: parse(authority)}
	t.segments = parseSegments(path, parse)
	if hasQuery {
		for pair := range strings.SplitSeq(query, "&") {
			t.pairs = append(t.pairs, parse(pair))
		}
	}
	return t, nil
}

func parseSegments(path string, parse func(string) *template.Template) []*template.Template {
	var segments []*template.Template
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		segments = append(segments, parse(segment))
	}
	return segments
}

// joinHost is the address as a dialer names it.
func joinHost(host string, port uint16) string {
	if literal, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(literal, port).String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
