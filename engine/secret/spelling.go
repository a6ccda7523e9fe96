package secret

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/value"
)

// minLine is the length from which one line of a value of several lines, such
// as a key file, is cut out by itself.
const minLine = 16

// spellings lists every form in which programs write a value: as it is, in
// JSON, percent-encoded, in base64 and in hexadecimal. Not covered are base64
// that is wrapped into lines, compression and encryption.
func spellings(text string) []string {
	plain := []string{text}
	if lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
		for _, line := range lines {
			if len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				plain = append(plain, line)
			}
		}
	}
	var all []string
	for _, p := range plain {
		all = append(all, p)
		all = append(all, jsonForms(p)...)
		all = append(all, percentForms(p)...)
		all = append(all, base64Forms(p)...)
		all = append(all, hex.EncodeToString([]byte(p)), strings.ToUpper(hex.EncodeToString([]byte(p))))
	}
	return all
}

func jsonForms(text string) []string {
	quoted := string(value.JSON(text))
	plain := quoted[1 : len(quoted)-1]
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(plain)
	slash := strings.ReplaceAll(plain, "/", `\/`)
	ascii, upper := asciiJSON(plain, "0123456789abcdef"), asciiJSON(plain, "0123456789ABCDEF")
	return []string{plain, html, slash, ascii, upper, strings.ReplaceAll(ascii, "/", `\/`)}
}

// asciiJSON writes everything beyond ASCII as \u escapes.
func asciiJSON(text, digits string) string {
	var b strings.Builder
	unit := func(u uint16) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(digits[u>>shift&15])
		}
	}
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			unit(uint16(high))
			unit(uint16(low))
		default:
			unit(uint16(r))
		}
	}
	return b.String()
}

func percentForms(text string) []string {
	const digits = "0123456789ABCDEF"
	var every, component strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		escape := "%" + string(digits[c>>4]) + string(digits[c&15])
		every.WriteString(escape)
		if c < utf8.RuneSelf && (isWord(c) || strings.IndexByte("-_.!~*'()", c) >= 0) {
			component.WriteByte(c)
		} else {
			component.WriteString(escape)
		}
	}
	query := url.QueryEscape(text)
	forms := []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(text), component.String(), every.String()}
	for _, form := range forms[:len(forms):len(forms)] {
		forms = append(forms, lowerEscapes(form))
	}
	return forms
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func lowerEscapes(form string) string {
	b := []byte(form)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(form[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// base64Forms gives the whole encoding, padded and not, and for each of the
// three places that a value can have within longer data the characters that
// depend on the value alone.
func base64Forms(text string) []string {
	var forms []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		whole := encoding.EncodeToString([]byte(text))
		forms = append(forms, whole, whole+strings.Repeat("=", (4-len(whole)%4)%4))
		for before := 0; before < 3; before++ {
			data := append(make([]byte, before), text...)
			encoded := encoding.EncodeToString(data)
			start, end := 0, len(encoded)
			if before > 0 {
				start = before + 1 // the last of these mixes the value with what stands before it
			}
			if len(data)%3 != 0 {
				end-- // the last character mixes the value with what follows
			}
			forms = append(forms, encoded[start:end])
		}
	}
	return forms
}
