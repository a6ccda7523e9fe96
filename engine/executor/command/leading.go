package command

import (
	"fmt"
	"slices"
	"strings"
)

// leading says which first characters an argument may have although a program
// could take it for an option, a file of arguments or a transport.
type leading []string

// leadingOf allows what every argument among the slots allows: any of them
// may be the one that decides the first character, when those before are empty.
func (c *compiler) leadingOf(slots ...[]string) leading {
	var allowed leading
	for i, slot := range slots {
		if len(slot) < 2 {
			return nil
		}
		mine := c.Leading[slot[1]]
		if i == 0 {
			allowed = slices.Clone(mine)
			continue
		}
		allowed = slices.DeleteFunc(allowed, func(s string) bool { return !slices.Contains(mine, s) })
	}
	return allowed
}

// check looks at a whole rendered argument whose beginning a caller decides.
// It holds behind a literal -- too: programs pass their operands on.
func (l leading) check(word string) error {
	if start := risky(word); start != "" && !slices.Contains(l, start) {
		return fmt.Errorf("an argument may not begin with %q here, because a program could take it for more than a value", start)
	}
	return nil
}

// risky returns the dangerous beginning of a word: "-", "@", "+", "file:", or
// a transport such as "ext::", which runs a command in git.
func risky(word string) string {
	if word == "" {
		return ""
	}
	if strings.ContainsRune("-@+", rune(word[0])) {
		return word[:1]
	}
	if len(word) >= 5 && strings.EqualFold(word[:5], "file:") {
		return "file:"
	}
	if scheme, _, found := strings.Cut(word, "::"); found && scheme != "" && !strings.ContainsFunc(scheme, notScheme) {
		return scheme + "::"
	}
	return ""
}

func notScheme(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-._", r))
}
