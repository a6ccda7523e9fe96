package setting

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// parse reads a scalar setting from text, as every source but YAML gives it.
// It returns an int64, bool or string.
func (e Entry) parse(text string) (any, error) {
	switch e.form {
	case formInteger:
		n, err := parseInteger(text)
		if err != nil {
			return nil, err
		}
		return n, e.bounded(n, strconv.FormatInt)
	case formSize:
		n, err := parseSize(text)
		if err != nil {
			return nil, err
		}
		return n, e.bounded(n, func(n int64, _ int) string { return Size(n) })
	case formBoolean:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is not a boolean: write true or false", text)
		}
		return text == "true", nil
	case formWord:
		if !slices.Contains(e.Words, text) {
			return nil, fmt.Errorf("unknown word %q: use %s%s", text, diag.OneOf(e.Words), suffix(diag.DidYouMean(text, e.Words)))
		}
		return text, nil
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("control characters are not allowed")
	}
	if e.check != nil && text != "" {
		if err := e.check(text); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (e Entry) bounded(n int64, print func(int64, int) string) error {
	if n < e.Min || n > e.Max {
		if e.Min == e.Max {
			return fmt.Errorf("%s is not known: this writ reads %s", print(n, 10), print(e.Min, 10))
		}
		return fmt.Errorf("%s is out of range: use %s to %s", print(n, 10), print(e.Min, 10), print(e.Max, 10))
	}
	return nil
}

func parseInteger(text string) (int64, error) {
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("%s: write a whole number without leading zeros", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

// parseSize reads a size and says which unit was meant by the usual slips.
func parseSize(text string) (int64, error) {
	size, err := document.ParseSize(text)
	if err == nil {
		return int64(size), nil
	}
	slip := regexp.MustCompile(`^([0-9]+) ?([kKmMgG]?)[iI]?[bB]?$`).FindStringSubmatch(text)
	if slip == nil {
		return 0, err
	}
	unit := "B"
	if slip[2] != "" {
		unit = strings.ToUpper(slip[2]) + "iB"
	}
	return 0, fmt.Errorf("size %q: did you mean %s%s?", text, slip[1], unit)
}

func suffix(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

func checkListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT, such as 127.0.0.1:8765", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("port %q: use 0 to 65535", port)
	}
	if host == "" || host == "localhost" {
		return nil
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return fmt.Errorf("host %q: use an IP address or localhost", host)
	}
	return nil
}

// loopback reports whether a checked listen address is for this machine only.
// No host means every address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	return loopbackHost(host)
}

func loopbackHost(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// checkAdvertised holds the text to what contract S-08 allows.
func checkAdvertised(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is not an origin, such as https://writ.example.com", text)
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.HasSuffix(text, "#") {
		return fmt.Errorf("%q has more than scheme, host and port: write %s://%s", text, u.Scheme, u.Host)
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && address.Unmap().IsUnspecified() {
		return fmt.Errorf("%s is no address that clients can reach", u.Hostname())
	}
	return nil
}
