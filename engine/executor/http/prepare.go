package httpcall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
	"github.com/writ-dev/writ/engine/network"
)

// plan is what Prepare pins.
type plan struct {
	request  *request
	vetted   network.Vetted
	resource executor.Resource // where a download goes
	before   rooted.State
	fetched  []byte
	ready    bool // nothing was left unresolved
}

// Prepare renders the request, checks where it leads, and fetches what is to
// be saved.
func (e *Executor) Prepare(ctx context.Context, in executor.Input) (call.Effect, error) {
	r, err := e.render(in.Arguments)
	if err != nil {
		return call.Effect{}, err
	}
	effect := call.Effect{Bound: e.bound(r), Preview: e.preview(r)}
	if err := e.bindSecrets(effect.Bound, in.Offline); err != nil {
		return call.Effect{}, err
	}
	p := &plan{request: r}
	if e.save != "" {
		if p.resource, err = e.saveTo(in); err != nil {
			return call.Effect{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	approved := e.approved(in.Previous, r)
	if err := e.locate(ctx, p, approved, in.Offline, &effect); err != nil {
		return call.Effect{}, err
	}
	if e.save != "" {
		if err := e.prepareSave(ctx, p, approved, in.Offline, &effect); err != nil {
			return call.Effect{}, err
		}
	}
	p.ready = !in.Offline
	effect.Pinned = p
	return effect, nil
}

// approved is the plan of the effect that was approved, when it was for the
// same address.
func (e *Executor) approved(previous *call.Effect, r *request) *plan {
	if previous == nil {
		return nil
	}
	p, ok := previous.Pinned.(*plan)
	if !ok || !p.ready || p.request.address.String() != r.address.String() {
		return nil
	}
	return p
}

// locate checks the host and its addresses. The addresses are pinned and not
// bound: that they rotate changes nothing of what is done.
func (e *Executor) locate(ctx context.Context, p *plan, approved *plan, offline bool, effect *call.Effect) error {
	host, port := hostPort(p.request.address)
	if _, err := e.admit(p.request.address); err != nil {
		return err
	}
	if offline {
		effect.Unresolved = append(effect.Unresolved, "the addresses of "+host)
		return nil
	}
	if approved != nil {
		p.vetted = approved.vetted
		return nil
	}
	var err error
	p.vetted, err = e.kind.options.Guard.Vet(ctx, host, port, e.reach.allow)
	return err
}

// admit checks by spelling alone whether the tool may call an address.
func (e *Executor) admit(address *url.URL) (string, error) {
	host, port := hostPort(address)
	name, err := e.kind.options.Guard.Check(host, port, e.reach.allow)
	if err == nil && e.reach.narrow && !e.reach.allow.Has(name) {
		err = &network.RefusedError{Host: name, Why: "the tool calls only the hosts that it names"}
	}
	return name, err
}

// bindSecrets puts into what is bound which secrets are sent, and a keyed
// digest of each, so that an approval does not outlive a changed secret.
func (e *Executor) bindSecrets(bound map[string]any, offline bool) error {
	if e.connection == nil {
		return nil
	}
	bound["connection"] = e.connection.name
	sealed, digests := map[string]any{}, map[string]any{}
	keyed, _ := e.secrets.(interface {
		Digest(name string) (string, error)
	})
	for _, f := range e.connection.sealed {
		sealed[f.name] = f.value.Source()
		for _, slot := range f.value.Slots() {
			if offline {
				continue
			}
			var digest string
			_, err := e.secrets.Value(slot[1])
			if err == nil && keyed != nil {
				digest, err = keyed.Digest(slot[1])
			}
			if err != nil {
				return err
			}
			digests[slot[1]] = digest
		}
	}
	bound["connection_headers"], bound["secrets"] = sealed, digests
	return nil
}

func (e *Executor) saveTo(in executor.Input) (executor.Resource, error) {
	resource, ok := in.Paths[e.save]
	if !ok {
		return executor.Resource{}, errors.New("the path of the download was not resolved under a root")
	}
	return resource, rooted.Allowed(resource, e.files)
}

// prepareSave fetches the body, so that what is approved is exactly what will
// be written (T-29). Bytes that were approved are not fetched again; the file
// that they will replace is looked at again.
func (e *Executor) prepareSave(ctx context.Context, p, approved *plan, offline bool, effect *call.Effect) error {
	target := rooted.Label(p.resource)
	effect.Bound["save"] = map[string]any{"root": p.resource.Root, "root_path": p.resource.RootPath, "file": p.resource.Relative}
	if offline {
		effect.Unresolved = append(effect.Unresolved, "the bytes of "+p.request.address.String(), "the state of "+target)
		effect.Preview += "\nsave to " + target
		return nil
	}
	var err error
	if p.before, err = e.look(p.resource); err != nil {
		return err
	}
	if approved != nil {
		p.fetched = approved.fetched
	} else if p.fetched, err = e.fetch(ctx, p); err != nil {
		return err
	}
	sum := call.Digest(sha256.Sum256(p.fetched))
	effect.Bound["sha256"], effect.Bound["before"] = sum.String(), p.before.Bound()
	effect.Facts = map[string]any{"bytes": int64(len(p.fetched))}
	effect.Preview += fmt.Sprintf("\n%d bytes, sha256 %s\nsave to %s", len(p.fetched), sum, target)
	if p.before.Exists {
		effect.Preview += fmt.Sprintf(", replacing a file of %d bytes", p.before.Bytes)
	} else {
		effect.Preview += ", a new file"
	}
	return nil
}

func (e *Executor) look(resource executor.Resource) (rooted.State, error) {
	folder, name, err := rooted.OpenParent(resource, e.files)
	if err != nil {
		return rooted.State{}, err
	}
	defer folder.Close()
	return folder.State(name)
}

func (e *Executor) fetch(ctx context.Context, p *plan) ([]byte, error) {
	got, err := e.exchange(ctx, p)
	switch {
	case err != nil:
		return nil, explain(err)
	case got.status < 200 || got.status > 299:
		return nil, errors.New(statusReason(got.status))
	case got.more:
		return nil, fmt.Errorf("the answer has more than %d bytes", p.request.limit)
	}
	return got.body, nil
}
