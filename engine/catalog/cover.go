package catalog

import "github.com/writ-dev/writ/engine/match"

// cover finds the tools of a selector without asking every tool for every
// rule: the rules of one document share a selector, and one that names tools
// or groups costs those, not the whole catalog.
type cover struct {
	byGroup map[string][]*Tool
	known   map[match.Selector][]*Tool
}

// covered lists the tools that a selector covers, but those whose own mistakes
// keep rules from being checked against them.
func (b *build) covered(s match.Selector) []*Tool {
	if list, ok := b.cover.known[s]; ok {
		return list
	}
	if b.cover.known == nil {
		b.cover.known = map[match.Selector][]*Tool{}
	}
	var list []*Tool
	add := func(t *Tool) {
		if t != nil && t.Executor != nil && s.Covers(t.Target()) != match.Outside {
			list = append(list, t)
		}
	}
	if names, only := s.Names(); only {
		for _, name := range names {
			add(b.catalog.byName[name])
		}
	} else if groups, only := s.Groups(); only {
		for _, group := range groups {
			for _, t := range b.group(group) {
				add(t)
			}
		}
	} else {
		for _, t := range b.catalog.tools {
			add(t)
		}
	}
	b.cover.known[s] = list
	return list
}

func (b *build) group(name string) []*Tool {
	if b.cover.byGroup == nil {
		b.cover.byGroup = map[string][]*Tool{}
		for _, t := range b.catalog.tools {
			b.cover.byGroup[t.Group] = append(b.cover.byGroup[t.Group], t)
		}
	}
	return b.cover.byGroup[name]
}
