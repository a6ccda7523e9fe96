// Package value answers two questions: what is a canonical value, and what is
// known of it before any call arrives?
//
// A canonical value is the one form that schema, rule, preview, audit and
// executor all read: nil, bool, int64, float64, string, []any or
// map[string]any. An integral number is always int64; a float64 is never
// integral, infinite or NaN, and its shortest decimal text is exactly the
// number that was sent. Values are immutable once made: nobody writes into a
// map or slice that came from another room. The package is a leaf.
package value

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the canonical JSON of a canonical value: sorted keys, no
// white space, integers without exponent, fractions in their shortest form,
// and only the escapes that JSON demands. Equal values give equal bytes, so
// digests are taken of this form. It panics on a Go type that is not
// canonical, which is a fault of the caller and never of input.
func AppendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range Keys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			dst = AppendJSON(dst, v[key])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("value: %T is not a canonical value", v))
}

// JSON returns the canonical JSON of a canonical value.
func JSON(v any) []byte { return AppendJSON(nil, v) }

// Text prints a scalar the way a template does: a string as it is, a number as
// JSON prints it, a boolean as true or false. It reports false for nil, lists
// and objects, which have no text.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int64, float64:
		return string(JSON(v)), true
	}
	return "", false
}

// Keys returns the keys of a map in order.
func Keys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Equal reports whether two canonical values are the same value. 1 and 1.0
// are, because both are int64 once canonical.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, item := range a {
			other, ok := b[key]
			if !ok || !Equal(item, other) {
				return false
			}
		}
		return true
	default:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

func appendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		panic("value: a canonical number is finite")
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && dst[n-2] == '0' { // e-07 is e-7
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size - 1
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		start = i + 1
	}
	return append(append(dst, s[start:]...), '"')
}
