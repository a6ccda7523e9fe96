package argument

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"

	"github.com/writ-dev/writ/engine/value"
)

var (
	errDigits = errors.New("has more digits than a number holds; the tool could use a string with format: decimal")
	errRange  = errors.New("is outside the integers that are held, -9223372036854775808 to 9223372036854775807")
)

// numberLength returns the length of the JSON number that a text begins with,
// or 0.
func numberLength(text []byte) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// parseNumber makes the canonical value of a JSON number: int64 when it is
// integral, however it is written, and float64 only when its shortest text is
// exactly the number that was sent.
func parseNumber(text []byte) (any, error) {
	if n, ok := smallInteger(text); ok {
		return n, nil
	}
	sent := normalise(text)
	if sent.digits == "" {
		return int64(0), nil
	}
	if sent.exponent >= 0 {
		if len(sent.digits)+sent.exponent > 19 {
			return nil, errRange
		}
		whole := sent.digits + "0000000000000000000"[:sent.exponent]
		if sent.negative {
			whole = "-" + whole
		}
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return nil, errRange
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, errDigits
	}
	var buffer [32]byte
	if normalise(strconv.AppendFloat(buffer[:0], f, 'e', -1, 64)) != sent {
		return nil, errDigits
	}
	return f, nil
}

// smallInteger reads what is written as an integer of at most 18 digits.
func smallInteger(text []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// decimal is digits × 10^exponent; digits neither begin nor end with 0, and
// are empty for zero.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

func normalise(text []byte) decimal {
	var d decimal
	text, d.negative = bytes.CutPrefix(text, []byte{'-'})
	mantissa, power := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], smallExponent(text[i+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := bytes.TrimLeft(append(append(make([]byte, 0, len(mantissa)), whole...), fraction...), "0")
	trimmed := bytes.TrimRight(digits, "0")
	if len(trimmed) == 0 {
		return decimal{}
	}
	d.digits = string(trimmed)
	d.exponent = power - len(fraction) + len(digits) - len(trimmed)
	return d
}

// smallExponent reads an exponent and stops growing where no number that is
// held could follow.
func smallExponent(text []byte) int {
	text, negative := bytes.CutPrefix(bytes.TrimPrefix(text, []byte{'+'}), []byte{'-'})
	n := 0
	for _, c := range text {
		if n = n*10 + int(c-'0'); n > 1<<24 {
			break
		}
	}
	if negative {
		return -n
	}
	return n
}

func isNumber(v any) bool { return typeOf(v)&(isInteger|isFraction) != 0 }

// compare orders two canonical numbers. A float64 is never integral, so it is
// below 2^53 in size, and an integer that loses digits on the way to float64
// is not; the order is exact.
func compare(a, b any) int {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	}
	x, y := float(a), float(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

// multiple divides exactly: 0.3 is a multiple of 0.1.
func multiple(v, of any) bool {
	if x, ok := v.(int64); ok {
		if y, ok := of.(int64); ok {
			return x%y == 0
		}
	}
	x, _ := new(big.Rat).SetString(string(value.JSON(v)))
	y, _ := new(big.Rat).SetString(string(value.JSON(of)))
	return x.Quo(x, y).IsInt()
}
