package mcpserver

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions bounds what clients hold open: sessions of the older protocol and
// listen streams of the newer one. When there is no room, the session of the
// same principal that was idle longest makes way, if it was idle for a while.
type sessions struct {
	most, each int
	now        func() time.Time

	mu   sync.Mutex
	open map[*mcp.ServerSession]*held
}

type held struct {
	principal string
	used      time.Time
}

// spare is how long a session must have been idle to make way for another.
const spare = time.Minute

func newSessions(most, each int, now func() time.Time) *sessions {
	return &sessions{most: most, each: each, now: now, open: map[*mcp.ServerSession]*held{}}
}

func (t *sessions) touch(session *mcp.ServerSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.open[session]; h != nil {
		h.used = t.now()
	}
}

// full reports whether a new session of a principal would find no room.
func (t *sessions) full(principal string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, room := t.room(principal)
	return !room
}

// add takes room for a session until it ends.
func (t *sessions) add(session *mcp.ServerSession, principal string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[session] != nil {
		return true
	}
	idle, room := t.room(principal)
	if !room {
		return false
	}
	if idle != nil {
		delete(t.open, idle)
		go func() { _ = idle.Close() }()
	}
	t.open[session] = &held{principal, t.now()}
	go func() {
		_ = session.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, session)
	}()
	return true
}

// room reports whether there is room, and which session must go for it.
func (t *sessions) room(principal string) (idle *mcp.ServerSession, ok bool) {
	own, oldest := 0, t.now().Add(-spare)
	for session, h := range t.open {
		if h.principal != principal {
			continue
		}
		own++
		if !h.used.After(oldest) {
			idle, oldest = session, h.used
		}
	}
	if own < t.each && len(t.open) < t.most {
		return nil, true
	}
	return idle, idle != nil
}

// EndSessions closes every session, as when calls are frozen. Clients may open
// new ones.
func (s *Server) EndSessions() {
	for session := range s.sdk.Sessions() {
		go func() { _ = session.Close() }()
	}
}
