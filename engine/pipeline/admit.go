package pipeline

import "sync"

// gate bounds the calls that are in the pipeline.
type gate struct {
	limits     Limits
	mu         sync.Mutex
	calls      int
	principals map[string]int
}

// enter takes a place, or says that there is none.
func (g *gate) enter(principal string) (leave func(), refused *refusalError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls >= g.limits.Calls {
		return nil, refusal("busy", "the server is busy: %d calls are running; try again later", g.calls)
	}
	if n := g.principals[principal]; n >= g.limits.PerPrincipal {
		return nil, refusal("busy", "%d of your calls are running; wait for one to end", n)
	}
	g.calls++
	g.principals[principal]++
	return func() { g.leave(principal) }, nil
}

func (g *gate) leave(principal string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls--
	if g.principals[principal]--; g.principals[principal] == 0 {
		delete(g.principals, principal)
	}
}
