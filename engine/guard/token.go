package guard

import (
	"context"
	"net/http"
	"strings"

	"github.com/writ-dev/writ/engine/call"
)

// maxToken is the longest bearer token that is looked at (S-13).
const maxToken = 256

type principalKey struct{}

func withPrincipal(ctx context.Context, p call.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Principal is the caller of this request, as its own token says. It reports
// false outside an authenticated endpoint.
func Principal(ctx context.Context) (call.Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(call.Principal)
	return p, ok
}

// authenticate wants exactly one Authorization header (S-13): with two, a
// proxy and the server might read different ones.
func (g *Guard) authenticate(r *http.Request) (call.Principal, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return call.Principal{}, false
	}
	token, ok := bearer(values[0])
	if !ok {
		return call.Principal{}, false
	}
	return g.options.Authenticator.Authenticate(token)
}

func bearer(header string) (string, bool) {
	scheme, token, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", false
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", false
		}
	}
	return token, true
}
