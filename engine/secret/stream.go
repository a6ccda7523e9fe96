package secret

import "slices"

// stream cuts out of a text every byte that belongs to a spelling of a
// secret. Spellings that overlap are cut out together, under the name of the
// longest, so that no part of either is left. Positions count from the first
// byte of the stream.
type stream struct {
	automaton *automaton
	state     int32
	held      []byte // bytes from base on, not yet decided
	base      int64
	regions   []region // apart from each other, in order; the first may have begun before base
	out       []byte
}

type region struct {
	start, end int64
	name       int32
	longest    int32 // length of the spelling that gave the name
}

// Write takes a piece and returns what is settled so far. The returned slice
// is valid until the next Write.
func (s *stream) Write(piece []byte) []byte {
	s.out = s.out[:0]
	a := s.automaton
	position := s.base + int64(len(s.held))
	s.held = append(s.held, piece...)
	for _, c := range piece {
		position++
		if s.state == 0 && !a.first[c] {
			continue
		}
		s.state = a.next(s.state, c)
		if n := &a.nodes[s.state]; n.longest != 0 {
			s.found(region{position - int64(n.longest), position, n.name, n.longest})
		}
	}
	s.settle(position - int64(a.nodes[s.state].depth))
	return s.out
}

// Flush returns what was held back. The stream is then as new.
func (s *stream) Flush() []byte {
	s.out = s.out[:0]
	s.settle(s.base + int64(len(s.held)))
	s.state = 0
	return s.out
}

func (s *stream) found(r region) {
	for n := len(s.regions); n > 0 && s.regions[n-1].end > r.start; n-- {
		last := s.regions[n-1]
		r.start = min(r.start, last.start)
		if last.longest >= r.longest {
			r.name, r.longest = last.name, last.longest
		}
		s.regions = s.regions[:n-1]
	}
	s.regions = append(s.regions, r)
}

// settle gives out everything before limit: no spelling that is still open
// began earlier. A region that reaches beyond may yet grow; its bytes are
// dropped, its name waits.
func (s *stream) settle(limit int64) {
	cursor, done := s.base, 0
	for i := range s.regions {
		r := &s.regions[i]
		if r.start > limit || r.start == limit && r.end > limit {
			break
		}
		if r.start > cursor {
			s.out = append(s.out, s.held[cursor-s.base:r.start-s.base]...)
		}
		if r.end > limit {
			r.start, cursor = limit, limit
			break
		}
		s.out = append(s.out, marker(s.automaton.names[r.name])...)
		cursor, done = r.end, i+1
	}
	if cursor < limit {
		s.out = append(s.out, s.held[cursor-s.base:limit-s.base]...)
	}
	s.regions = slices.Delete(s.regions, 0, done)
	s.held = slices.Delete(s.held, 0, int(limit-s.base))
	s.base = limit
}

// passThrough is the stream of a vault without secrets.
type passThrough struct{}

func (passThrough) Write(piece []byte) []byte { return piece }
func (passThrough) Flush() []byte             { return nil }
