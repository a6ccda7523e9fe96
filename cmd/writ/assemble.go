package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/command"
	"github.com/writ-dev/writ/engine/executor/file"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
	tlsprobe "github.com/writ-dev/writ/engine/executor/tls"
	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/metric"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/reload"
	"github.com/writ-dev/writ/engine/secret"
	"github.com/writ-dev/writ/engine/setting"
	"github.com/writ-dev/writ/engine/store"
)

// engine is all rooms, assembled for one place.
type engine struct {
	*builder
	app      *app
	log      *slog.Logger
	reloader *reload.Reloader
	metrics  *metric.Metrics
	started  time.Time
	// own is where this process listens; no tool may call it.
	own atomic.Pointer[[]netip.AddrPort]
	// address is where clients reach the server, or "".
	address atomic.Pointer[string]
	// store and pipeline are nil without state: such an engine explains and
	// lists, and calls nothing.
	store    *store.Store
	pipeline *pipeline.Pipeline
	desk     *approval.Desk
	// frozen is why all calls are refused, or nil.
	frozen      atomic.Pointer[string]
	endSessions func() // of the clients, or nil
	// alone says that no other process can reach this engine, so nobody can be
	// asked.
	alone bool
}

// The secrets of the state folder that the command line keeps there.
const (
	tokenName = "token"
	boundName = "bound.key" // keys the digests of secrets in what an approval binds
)

// assembly is how an engine is wanted.
type assembly struct {
	state bool // take possession of the state folder
	// environmentToken lets WRIT_TOKEN be the token of the caller default.
	environmentToken bool
	log              *slog.Logger
}

// open assembles the rooms and reads nothing yet but secrets of the state.
func (a *app) open(ctx context.Context, p *place, how assembly) (*engine, error) {
	e := &engine{app: a, log: how.log, metrics: metric.New(), started: a.now()}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	generated := func() (string, error) { return identity.NewToken(rand.Reader) }
	if how.state {
		var err error
		if e.store, err = store.Open(ctx, p.state, store.Options{Log: how.log, Now: a.now}); err != nil {
			return nil, err
		}
		if key, err = e.store.Dir().Secret(boundName, func() ([]byte, error) { return key, nil }); err != nil {
			return nil, errors.Join(err, e.close(ctx))
		}
		generated = func() (string, error) { return a.keptToken(e.store.Dir()) }
	}
	e.builder = e.newBuilder(p, key, generated)
	if how.environmentToken {
		e.identity.Token, e.identity.TokenSet = setting.Token(a.environ)
	}
	e.reloader = reload.New(reload.Options{
		Build: e.build, Watch: e.watch(documentPaths(p.settings), nil), Log: how.log, Manual: p.settings.Reload == setting.Manual || p.configuration.Embedded,
		Now: a.now, Observe: e.metrics.Reload,
	})
	if !how.state {
		return e, nil
	}
	e.metrics.Chain(e.store.Head)
	auditKey, err := e.store.Dir().Key()
	if err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	if reason, frozen := e.store.Dir().Frozen(); frozen {
		e.frozen.Store(&reason)
		how.log.Warn("all calls are frozen", "reason", reason)
	}
	e.entering = e.enterGrants
	if a.dangerousGrants {
		how.log.Warn("grants may release dangerous calls of local entries under the posture permissive")
	}
	e.desk = approval.NewDesk(a.now, newTicketID)
	e.pipeline = pipeline.New(pipeline.Options{
		Live: &e.live, Desk: e.desk, Approvers: e.mayApprove, Frozen: e.isFrozen, DangerousGrants: a.dangerousGrants, Journal: e.store, Key: auditKey,
		Limits: pipeline.Limits{
			Calls: p.settings.Limits.Calls, PerPrincipal: p.settings.Limits.CallsPerPrincipal,
			ArgumentsBytes: int(p.settings.Limits.ArgumentBytes),
		},
		Now: a.now, NewID: rand.Text, UID: os.Getuid(), Log: how.log, Observe: e.metrics.Observe,
	})
	return e, nil
}

func (e *engine) newBuilder(p *place, key []byte, generated func() (string, error)) *builder {
	b := &builder{place: p, documents: newDocuments(p.configuration, e.app.now), identity: identity.Options{Generated: generated}}
	env := func(name string) (string, bool) { return e.app.environment(name) }
	guard := &network.Guard{Own: func() []netip.AddrPort {
		if own := e.own.Load(); own != nil {
			return *own
		}
		return nil
	}}
	b.compiler = catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{
			"command": command.New(command.Options{Env: env, Key: key, Log: e.log}),
			"http":    httpcall.New(httpcall.Options{Guard: guard, Now: e.app.now}),
			"file":    file.Kind{},
			"tls":     tlsprobe.New(tlsprobe.Options{Guard: guard, Now: e.app.now}),
		},
		Secrets: func(documents []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(documents, secret.Options{Env: env, Key: key, Also: e.alsoSecret()})
		},
		Now: e.app.now,
	})
	return b
}

// alsoSecret are values that no document declares and no output may show.
func (e *engine) alsoSecret() map[string]string {
	also := map[string]string{}
	if token, set := setting.Token(e.app.environ); set && identity.CheckToken(token) == nil {
		also[setting.TokenVariable] = token
	}
	if e.store != nil {
		if token, err := e.app.keptToken(e.store.Dir()); err == nil {
			also["the generated token"] = token
		}
	}
	return also
}

// keptToken is the generated token of a state folder.
func (a *app) keptToken(dir store.Dir) (string, error) {
	token, err := dir.Secret(tokenName, func() ([]byte, error) {
		token, err := identity.NewToken(rand.Reader)
		return []byte(token), err
	})
	return string(token), err
}

// load reads the files for the first time.
func (e *engine) load(ctx context.Context) (reload.Outcome, error) {
	outcome := e.reloader.Load(ctx)
	if outcome.Problems.HasErrors() {
		return outcome, mistakes{outcome.Problems}
	}
	return outcome, nil
}

// close gives the state back.
func (e *engine) close(ctx context.Context) error {
	if e.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return e.store.Close(ctx)
}

// newTicketID makes an id that nobody can guess (80 random bits) and a person
// can type (contract S-49).
func newTicketID() string { return "r" + strings.ToLower(rand.Text()[:16]) }
