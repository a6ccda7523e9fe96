package secret

import "github.com/writ-dev/writ/engine/value"

// automaton finds all spellings of all secrets in one pass over the text
// (Aho and Corasick). Children are linked lists, because most nodes have one.
type automaton struct {
	nodes []node
	first [256]bool // bytes that begin a spelling
	start [256]int32
	names []string
}

type node struct {
	child, sibling int32 // 0 is none: the root is nobody's child
	fail           int32
	depth          int32
	// longest is the length of the longest spelling that ends here, on this
	// node or on one that it fails to; 0 is none.
	longest int32
	name    int32
	char    byte
}

// compile returns nil when there is nothing to find. A spelling that two
// secrets share belongs to the first name.
func compile(values map[string]string) *automaton {
	if len(values) == 0 {
		return nil
	}
	a := &automaton{nodes: make([]node, 1)}
	for _, name := range value.Keys(values) {
		a.names = append(a.names, name)
		for _, spelling := range spellings(values[name]) {
			if len(spelling) >= MinBytes {
				a.insert(spelling, int32(len(a.names)-1))
			}
		}
	}
	a.link()
	return a
}

func (a *automaton) insert(spelling string, name int32) {
	at := int32(0)
	for i := 0; i < len(spelling); i++ {
		next := a.childOf(at, spelling[i])
		if next == 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, node{char: spelling[i], depth: int32(i + 1), sibling: a.nodes[at].child})
			a.nodes[at].child = next
		}
		at = next
	}
	if a.nodes[at].longest == 0 {
		a.nodes[at].longest, a.nodes[at].name = int32(len(spelling)), name
	}
}

func (a *automaton) childOf(at int32, c byte) int32 {
	for n := a.nodes[at].child; n != 0; n = a.nodes[n].sibling {
		if a.nodes[n].char == c {
			return n
		}
	}
	return 0
}

// link sets the failure links breadth first.
func (a *automaton) link() {
	var queue []int32
	for n := a.nodes[0].child; n != 0; n = a.nodes[n].sibling {
		a.first[a.nodes[n].char], a.start[a.nodes[n].char] = true, n
		queue = append(queue, n)
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for n := a.nodes[at].child; n != 0; n = a.nodes[n].sibling {
			child := &a.nodes[n]
			child.fail = a.next(a.nodes[at].fail, child.char)
			if fail := a.nodes[child.fail]; child.longest == 0 {
				child.longest, child.name = fail.longest, fail.name
			}
			queue = append(queue, n)
		}
	}
}

func (a *automaton) next(at int32, c byte) int32 {
	for at != 0 {
		if n := a.childOf(at, c); n != 0 {
			return n
		}
		at = a.nodes[at].fail
	}
	return a.start[c]
}

// mayMatch scans without building anything.
func (a *automaton) mayMatch(text string) bool {
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 && !a.first[text[i]] {
			continue
		}
		if at = a.next(at, text[i]); a.nodes[at].longest != 0 {
			return true
		}
	}
	return false
}
