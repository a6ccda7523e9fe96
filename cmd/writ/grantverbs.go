package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/store"
	"github.com/writ-dev/writ/engine/value"
)

type grantsQuestion struct {
	Name string `json:"name,omitempty"`
}

// revokeQuestion carries an approver's own token, as a verdict does.
type revokeQuestion struct {
	Name  string `json:"name"`
	Token string `json:"token"`
}

// The states of a grant.
const (
	grantActive    = "active"
	grantExpired   = "expired"
	grantExhausted = "exhausted"
	grantRevoked   = "revoked"
	grantRemoved   = "removed" // known to the state folder, and in no file
)

// grantInfo is one grant as commands print it.
type grantInfo struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Left is how many calls it still releases; nil means any number.
	Left     *int64          `json:"left"`
	Used     int64           `json:"used"`
	Expires  time.Time       `json:"expires_at,omitzero"`
	MaxRisk  string          `json:"max_risk,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Match    *document.Match `json:"match,omitempty"`
	When     string          `json:"when,omitempty"`
	Reviewed string          `json:"reviewed,omitempty"`
	Tools    []string        `json:"tools"`
	// NotCovered are tools that a pattern selects and the grant does not cover,
	// with the reason.
	NotCovered map[string]string `json:"not_covered,omitempty"`
	FirstUsed  time.Time         `json:"first_used,omitzero"`
	Revoked    time.Time         `json:"revoked,omitzero"`
	RevokedBy  string            `json:"revoked_by,omitempty"`
	At         string            `json:"at,omitempty"`
}

// enterGrants notes the grants of a generation before it comes into force.
// What cannot be noted releases nothing.
func (e *engine) enterGrants(generation *catalog.Catalog) {
	list := make([]store.InForce, 0, len(generation.Grants))
	for _, g := range generation.Grants {
		tools := make(map[string]string, len(g.Patterned))
		for name, digest := range g.Patterned {
			tools[name] = digest.String()
		}
		list = append(list, store.InForce{Name: g.Name, Uses: g.Uses, Reviewed: g.Reviewed, Tools: tools})
	}
	if err := e.store.EnterGrants(list); err != nil {
		e.log.Error("grants that are new or have changed release nothing, because they cannot be noted", "error", err)
	}
}

func (e *engine) answerGrants(ctx context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q grantsQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if e.store == nil {
		return nil, errors.New("uses of grants are counted in the state folder, and there is none")
	}
	kept, err := e.store.Grants(ctx)
	if err != nil {
		return nil, err
	}
	list := []grantInfo{}
	for _, g := range e.live.Current().Grants {
		list = append(list, e.grantInfo(g, kept[g.Name]))
		delete(kept, g.Name)
	}
	for _, name := range value.Keys(kept) {
		list = append(list, removedGrant(kept[name]))
	}
	if q.Name == "" {
		return list, nil
	}
	for _, info := range list {
		if info.Name == q.Name {
			return []grantInfo{info}, nil
		}
	}
	return nil, fmt.Errorf("there is no grant %q: writ grants lists them", q.Name)
}

func (e *engine) grantInfo(g *catalog.Grant, kept store.Grant) grantInfo {
	info := grantInfo{
		Name: g.Name, State: grantActive, Used: kept.Used, Expires: g.Expires, MaxRisk: g.MaxRisk.String(), Reason: g.Reason,
		Match: g.Document.Match, When: g.Document.When, Reviewed: g.Reviewed, Tools: append([]string{}, g.Named...),
		NotCovered: map[string]string{}, FirstUsed: kept.FirstUsed, Revoked: kept.Revoked, RevokedBy: kept.RevokedBy, At: g.At.String(),
	}
	left, unlimited := kept.Left(g.Uses)
	if !unlimited {
		info.Left = &left
	}
	for name, why := range g.Skipped {
		info.NotCovered[name] = why
	}
	for _, name := range value.Keys(g.Patterned) {
		if why := notCovered(kept, name, g.Patterned[name]); why != "" {
			info.NotCovered[name] = why
		} else {
			info.Tools = append(info.Tools, name)
		}
	}
	switch {
	case !kept.Revoked.IsZero():
		info.State = grantRevoked
	case !e.app.now().Before(g.Expires):
		info.State = grantExpired
	case !unlimited && left == 0:
		info.State = grantExhausted
	}
	return info
}

// notCovered says why a tool that only a pattern selects is not covered, or "".
func notCovered(kept store.Grant, tool string, digest call.Digest) string {
	switch known, ok := kept.Tools[tool]; {
	case !ok:
		return "it is newer than the grant; raise reviewed to cover it"
	case known != digest.String():
		return "it has changed since the grant was reviewed; raise reviewed to cover it"
	}
	return ""
}

func removedGrant(kept store.Grant) grantInfo {
	info := grantInfo{
		Name: kept.Name, State: grantRemoved, Left: kept.Remaining, Used: kept.Used, Tools: []string{}, Reviewed: kept.Reviewed,
		FirstUsed: kept.FirstUsed, Revoked: kept.Revoked, RevokedBy: kept.RevokedBy,
	}
	if !kept.Revoked.IsZero() {
		info.State = grantRevoked
	}
	return info
}

// grantState says for an explanation why the state folder lets a grant release
// nothing. It is nil when there is no state folder to ask.
func (e *engine) grantState(ctx context.Context) (func(grant.Bound, string, call.Digest) string, error) {
	if e.store == nil {
		return nil, nil
	}
	kept, err := e.store.Grants(ctx)
	if err != nil {
		return nil, err
	}
	return func(g grant.Bound, tool string, digest call.Digest) string {
		k := kept[g.Name]
		switch left, unlimited := k.Left(g.Uses); {
		case !k.Revoked.IsZero():
			return "it was revoked"
		case !unlimited && left == 0:
			return "its uses are spent"
		case !g.ByName:
			return notCovered(k, tool, digest)
		}
		return ""
	}, nil
}

func (e *engine) answerRevokeGrant(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q revokeQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, errors.New("read request: it is not a revocation")
	}
	if e.store == nil {
		return nil, errors.New("grants are revoked in the state folder, and there is none")
	}
	who, ok := e.approvers.Load().Authenticate(q.Token)
	if !ok {
		e.log.Warn("a revocation was refused", "grant", q.Name, "reason", "the token is no approver's")
		return nil, errors.New("this is not the token of an approver")
	}
	err := e.store.RevokeGrant(q.Name, who.Name)
	if errors.Is(err, store.ErrNoGrant) {
		return nil, fmt.Errorf("there is no grant %q: writ grants lists them", q.Name)
	}
	if err != nil {
		return nil, err
	}
	e.log.Warn("a grant was revoked", "grant", q.Name, "approver", who.Name)
	return struct{}{}, nil
}
