package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// read makes a canonical value of JSON text: one value, nothing behind it. Of
// a key that stands twice the last holds, and bytes that are no UTF-8 are
// replaced. A whole number beyond 64 bits becomes a string of its digits,
// because a rounded identifier is a wrong one; a fraction is rounded to the
// nearest double, as every reader of JSON does.
func read(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, errors.New("it is not valid JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return canonical(v), nil
}

func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = canonical(v[key])
		}
	}
	return v
}

func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || !strings.ContainsAny(text, ".eE") {
		return text
	}
	if f != math.Trunc(f) {
		return f
	}
	if math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return text
}
