package load

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// plain says what an unquoted scalar is. Dates are text; numbers keep their
// digits.
func plain(text string) (form, string, error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return formNull, "", nil
	case "true", "True", "TRUE":
		return formBool, "true", nil
	case "false", "False", "FALSE":
		return formBool, "false", nil
	}
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" {
		return formText, text, nil
	}
	lower := strings.ToLower(digits)
	if lower == ".inf" || lower == ".nan" {
		return formText, "", fmt.Errorf("%s is no number that JSON knows", text)
	}
	if otherBase(lower) {
		return formText, "", fmt.Errorf("%s is a number of another base, or has underscores or leading zeros", text)
	}
	if !decimal(digits) {
		return formText, text, nil
	}
	return number(text)
}

// otherBase reports 0x1f, 0o17, 0b1, 017 and 1_000, which YAML readers
// take for different numbers.
func otherBase(lower string) bool {
	if lower[0] < '0' || lower[0] > '9' {
		return false
	}
	if len(lower) > 2 && lower[0] == '0' && strings.ContainsRune("xob", rune(lower[1])) {
		return strings.Trim(lower[2:], "0123456789abcdef_") == ""
	}
	if strings.Contains(lower, "_") {
		return strings.Trim(lower, "0123456789_.e+-") == ""
	}
	return len(lower) > 1 && lower[0] == '0' && lower[1] >= '0' && lower[1] <= '9' && decimal(lower)
}

// decimal reports digits with at most one point and one exponent.
func decimal(text string) bool {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if scientific {
		exponent = strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-")
		if exponent == "" || strings.Trim(exponent, "0123456789") != "" {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return whole+fraction != "" && strings.Trim(whole+fraction, "0123456789") == ""
}

// number writes a YAML number as JSON writes it.
func number(text string) (form, string, error) {
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	text = strings.TrimLeft(text, "+-")
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if whole == "" {
		whole = "0"
	}
	out := sign + whole
	if pointed {
		if fraction == "" {
			fraction = "0"
		}
		out += "." + fraction
	}
	if scientific {
		out += "e" + exponent
	}
	if err := reasonable(out); err != nil {
		return formText, "", err
	}
	return formNumber, out, nil
}

// reasonable refuses numbers that take long to calculate with.
func reasonable(text string) error {
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if exponent != "" && (err != nil || n > 400 || n < -400) || len(text) > 400 {
		return errors.New("the number is too long, or its exponent is beyond 400")
	}
	return nil
}
