package diag

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns a ready hint, `did you mean "x"?`, naming the candidate
// closest to name, or "" when none is close. Closeness is edit distance with
// transpositions, at most a third of the longer word and at least one; a
// difference of case or of - against _ always counts as close.
func DidYouMean(name string, candidates []string) string {
	if best := Closest(name, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// Closest returns the candidate that DidYouMean would name, or "".
func Closest(name string, candidates []string) string {
	best, bestDistance := "", 1<<30
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if c == name {
			continue
		}
		d := distance(fold(name), fold(c))
		if d <= max(1, max(len(name), len(c))/3) && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// OneOf renders a list of allowed words for a message: `one of a, b, c`.
// More than twelve are cut with an ellipsis.
func OneOf(words []string) string {
	if len(words) > 12 {
		return "one of " + strings.Join(words[:12], ", ") + ", …"
	}
	return "one of " + strings.Join(words, ", ")
}

func fold(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

// distance is the optimal string alignment distance of two short strings.
func distance(a, b string) int {
	previous2 := make([]int, len(b)+1)
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], previous2[j-2]+1)
			}
		}
		previous2, previous, current = previous, current, previous2
	}
	return previous[len(b)]
}
