package condition

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

type numberKind uint8

const (
	notNumber numberKind = iota
	wholeNumber
	fractional
	rational
)

// maxBits bounds the exact fractions that arithmetic can make.
const maxBits = 4096

// maxDigits bounds a decimal, so that its fraction stays inside maxBits.
const maxDigits = 64

// number is an exact number. A float64 stands for its shortest decimal text,
// which is what was sent, so it becomes a fraction before it is calculated with.
type number struct {
	kind numberKind
	i    int64
	f    float64
	r    *big.Rat
}

func ofInt(i int64) number { return number{kind: wholeNumber, i: i} }

func ofFloat(f float64) number {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return ofInt(int64(f))
	}
	return number{kind: fractional, f: f}
}

func ofRat(r *big.Rat) (number, string) {
	if r.IsInt() && r.Num().IsInt64() {
		return ofInt(r.Num().Int64()), ""
	}
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		return number{}, "is a fraction with too many digits"
	}
	return number{kind: rational, r: r}, ""
}

func toNumber(v any) number {
	switch v := v.(type) {
	case int64:
		return ofInt(v)
	case float64:
		return ofFloat(v)
	case *big.Rat:
		return number{kind: rational, r: v}
	}
	return number{}
}

// canonical is the number as a value. A fraction that arithmetic made stays a
// *big.Rat: it lives inside an evaluation only.
func (n number) canonical() any {
	switch n.kind {
	case wholeNumber:
		return n.i
	case fractional:
		return n.f
	}
	return n.r
}

func (n number) rat() *big.Rat {
	switch n.kind {
	case wholeNumber:
		return new(big.Rat).SetInt64(n.i)
	case fractional:
		if r, ok := new(big.Rat).SetString(strconv.FormatFloat(n.f, 'g', -1, 64)); ok {
			return r
		}
		return new(big.Rat)
	}
	return n.r
}

func (n number) compare(m number) int {
	switch {
	case n.kind == wholeNumber && m.kind == wholeNumber:
		return cmp.Compare(n.i, m.i)
	case n.kind == fractional && m.kind == fractional:
		return cmp.Compare(n.f, m.f)
	case n.kind == wholeNumber && m.kind == fractional:
		return compareMixed(n.i, m.f)
	case n.kind == fractional && m.kind == wholeNumber:
		return -compareMixed(m.i, n.f)
	}
	return n.rat().Cmp(m.rat())
}

// compareMixed compares without rounding the integer.
func compareMixed(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	floor := math.Floor(f)
	if c := cmp.Compare(i, int64(floor)); c != 0 {
		return c
	}
	return cmp.Compare(floor, f)
}

func negate(n number) (number, string) { return calculate("-", ofInt(0), n) }

// calculate gives the exact result, or says why there is none.
func calculate(op string, a, b number) (number, string) {
	if a.kind == wholeNumber && b.kind == wholeNumber {
		return calculateWhole(op, a.i, b.i)
	}
	x, y := a.rat(), b.rat()
	switch op {
	case "+":
		return ofRat(new(big.Rat).Add(x, y))
	case "-":
		return ofRat(new(big.Rat).Sub(x, y))
	case "*":
		return ofRat(new(big.Rat).Mul(x, y))
	case "/":
		if y.Sign() == 0 {
			return number{}, "divides by zero"
		}
		return ofRat(new(big.Rat).Quo(x, y))
	}
	return number{}, "needs whole numbers"
}

func calculateWhole(op string, a, b int64) (number, string) {
	const overflow = "is beyond the range of integers"
	var c int64
	switch op {
	case "+":
		if c = a + b; (c > a) != (b > 0) {
			return number{}, overflow
		}
	case "-":
		if c = a - b; (c < a) != (b > 0) {
			return number{}, overflow
		}
	case "*":
		var ok bool
		if c, ok = multiply(a, b); !ok {
			return number{}, overflow
		}
	default:
		if b == 0 {
			return number{}, "divides by zero"
		}
		if b == -1 && a == math.MinInt64 {
			return number{}, overflow
		}
		if op == "%" {
			return ofInt(a % b), ""
		}
		if a%b != 0 {
			return ofRat(big.NewRat(a, b))
		}
		c = a / b
	}
	return ofInt(c), ""
}

func multiply(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0 || lo > 1<<63 || lo == 1<<63 && !negative:
		return 0, false
	case negative:
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// parseDecimal reads digits with an optional sign and fraction, nothing else.
func parseDecimal(text string) (number, bool) {
	if len(text) > maxDigits {
		return number{}, false
	}
	digits, point := text, -1
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	for i := range len(digits) {
		switch c := digits[i]; {
		case c == '.' && point < 0 && i > 0 && i < len(digits)-1:
			point = i
		case c < '0' || c > '9':
			return number{}, false
		}
	}
	if digits == "" {
		return number{}, false
	}
	if point < 0 {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return ofInt(i), true
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, false
	}
	n, reason := ofRat(r)
	return n, reason == ""
}
