package file

import (
	"fmt"
	"strings"
)

// around is how many unchanged lines stand around a change.
const around = 3

// matrixLimit bounds the table by which changed lines are matched. A change
// with more lines than that is shown as all old lines, then all new ones.
const matrixLimit = 1 << 20

// difference renders a unified diff. It is always complete. One patch changes
// one place, so there is one hunk.
func difference(label string, existed bool, before, after string) string {
	a, b := lines(before), lines(after)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	first, tail := max(0, start-around), min(len(a)-endA, around)
	var out strings.Builder
	if existed {
		fmt.Fprintf(&out, "--- %s\n", label)
	} else {
		out.WriteString("--- (no file)\n")
	}
	fmt.Fprintf(&out, "+++ %s\n@@ -%s +%s @@\n", label, span(first, endA+tail), span(first, endB+tail))
	each(&out, ' ', a[first:start])
	middle(&out, a[start:endA], b[start:endB])
	each(&out, ' ', a[endA:endA+tail])
	return out.String()
}

// span writes the first line, counted from 1, and how many lines there are.
func span(first, end int) string {
	if end == first {
		return fmt.Sprintf("%d,0", first)
	}
	return fmt.Sprintf("%d,%d", first+1, end-first)
}

// middle writes the lines that changed, keeping common ones as context.
func middle(out *strings.Builder, a, b []string) {
	if (len(a)+1)*(len(b)+1) > matrixLimit {
		each(out, '-', a)
		each(out, '+', b)
		return
	}
	// common[i*w+j] is the length of the longest common subsequence of a[i:] and b[j:].
	w := len(b) + 1
	common := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			each(out, ' ', a[i:i+1])
			i, j = i+1, j+1
		case common[(i+1)*w+j] >= common[i*w+j+1]:
			each(out, '-', a[i:i+1])
			i++
		default:
			each(out, '+', b[j:j+1])
			j++
		}
	}
	each(out, '-', a[i:])
	each(out, '+', b[j:])
}

func each(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// lines splits a text after each newline, without an empty last line.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	split := strings.SplitAfter(text, "\n")
	if split[len(split)-1] == "" {
		split = split[:len(split)-1]
	}
	return split
}
