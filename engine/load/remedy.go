package load

import (
	"regexp"
	"strings"
)

// remedy guesses what was meant by a size or a duration of another style.
func remedy(n *node, subject, want string) string {
	switch {
	case strings.HasPrefix(want, "a size"):
		return sizeRemedy(n)
	case strings.HasPrefix(want, "a duration"):
		return durationRemedy(n)
	case want == "text" && (n.form == formNumber || n.form == formBool):
		return "quote it: " + doubleQuoted(n.text)
	case want == "true or false" && n.form == formText:
		return boolRemedy(n.text)
	case strings.HasPrefix(want, "a list") && n.form == formText:
		return "write it as a list: [" + n.text + "]"
	}
	return ""
}

func boolRemedy(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "true":
		return "write true"
	case "no", "off", "n", "false":
		return "write false"
	}
	return ""
}

func sizeRemedy(n *node) string {
	if n.form == formNumber {
		return "write the unit: " + n.text + "B"
	}
	match := regexp.MustCompile(`^\s*([0-9]+)\s*([a-zA-Z]*)\s*$`).FindStringSubmatch(n.text)
	if match == nil {
		return ""
	}
	digits := strings.TrimLeft(match[1], "0")
	switch strings.ToLower(match[2]) {
	case "", "b", "byte", "bytes":
		return "write " + digits + "B"
	case "k", "ki", "kb", "kib":
		return "write " + digits + "KiB"
	case "m", "mi", "mb", "mib":
		return "write " + digits + "MiB"
	case "g", "gi", "gb", "gib":
		return "write " + digits + "GiB"
	}
	return ""
}

func durationRemedy(n *node) string {
	if n.form == formNumber {
		return "write the unit: " + n.text + "s"
	}
	match := regexp.MustCompile(`^\s*([0-9]+)\s*([a-zA-Z]*)\s*$`).FindStringSubmatch(n.text)
	if match == nil {
		return ""
	}
	switch strings.ToLower(match[2]) {
	case "", "s", "sec", "secs", "second", "seconds":
		return "write " + match[1] + "s"
	case "min", "mins", "minute", "minutes", "m":
		return "write " + match[1] + "m"
	case "hour", "hours", "hr", "hrs", "h":
		return "write " + match[1] + "h"
	case "d", "day", "days":
		return "write it in hours, such as 24h"
	}
	return ""
}
