package condition

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"

	"github.com/writ-dev/writ/engine/diag"
)

// Parse reads an expression. At is where its text begins. The Expression is
// nil when any of the diagnostics is an error; a pattern that is not anchored
// is a warning with the code "unanchored-pattern".
func Parse(source string, at diag.Position) (*Expression, diag.List) {
	p := &parsing{e: &Expression{source: source, at: at}}
	if p.bounded() && p.lex() && p.parse() {
		p.scan()
		p.e.tokens = onlyBrackets(p.e.tokens)
	}
	if p.out.HasErrors() {
		return nil, p.out
	}
	return p.e, p.out
}

// onlyBrackets copies what is needed to tell where a part begins and ends; a
// catalog holds many expressions.
func onlyBrackets(tokens []lexer.Token) []lexer.Token {
	var brackets []lexer.Token
	for _, t := range tokens {
		if t.Kind == lexer.Bracket {
			brackets = append(brackets, t)
		}
	}
	return brackets
}

type parsing struct {
	e    *Expression
	out  diag.List
	deep int // predicates around the node in hand
}

func (p *parsing) at(runes int) diag.Position { return offset(p.e.at, p.e.source, runes) }

func (p *parsing) bounded() bool {
	switch source := p.e.source; {
	case strings.TrimSpace(source) == "":
		p.out.Errorf(p.e.at, "expression-empty", "the expression is empty").
			Hinted("quote the expression: YAML reads !, & and * at its start as its own signs")
	case len(source) > MaxSource:
		p.out.Errorf(p.e.at, "expression-size", "the expression has %d bytes, more than %d", len(source), MaxSource).
			Hinted("split it into several rules")
	case !utf8.ValidString(source):
		p.out.Errorf(p.e.at, "expression-syntax", "the expression is not valid UTF-8")
	default:
		return true
	}
	return false
}

// lex looks at the words before the parser does, because its messages do not
// know the habits of other languages.
func (p *parsing) lex() bool {
	tokens, err := lexer.Lex(file.NewSource(p.e.source))
	if err != nil {
		p.syntax(err)
		return false
	}
	p.e.tokens = tokens
	end := 0
	for i, t := range tokens {
		if t.Kind == lexer.EOF {
			t.From = utf8.RuneCountInString(p.e.source)
		}
		if gap := cut(p.e.source, end, t.From); strings.TrimFunc(gap, unicode.IsSpace) != "" {
			p.out.Errorf(p.at(end), "expression-syntax", "a comment inside an expression").
				Hinted("write comments with # on lines of their own")
			return false
		}
		end = t.To
		if i == 0 || !tokens[i-1].Is(lexer.Operator, ".") {
			p.word(t, tokens[i+1:])
		}
	}
	p.brackets()
	return !p.out.HasErrors()
}

// word reports a token that can only be a mistake.
func (p *parsing) word(t lexer.Token, rest []lexer.Token) {
	adjoins := func(values ...string) bool {
		return len(rest) > 0 && rest[0].From == t.To && rest[0].Is(lexer.Operator, values...)
	}
	says := func(code, hint, format string, args ...any) {
		p.out.Errorf(p.at(t.From), code, format, args...).Hinted("%s", hint)
	}
	switch {
	case t.Kind == lexer.Identifier:
		p.identifier(t, says)
	case t.Kind == lexer.Bytes:
		says("expression-forbidden", "write a plain text in quotes", "bytes are not possible in an expression")
	case t.Kind != lexer.Operator:
	case t.Value == "=" && adjoins(">", "<"):
		says("expression-syntax", "write "+rest[0].Value+"=", "=%s is not an operator", rest[0].Value)
	case (t.Value == "==" || t.Value == "!=") && adjoins("="):
		says("expression-syntax", "write "+t.Value, "%s= is not an operator", t.Value)
	case t.Value == "=" && !p.continues(t):
		says("expression-syntax", "write ==", "= does not compare")
	case t.Value == "<" && adjoins(">"):
		says("expression-syntax", "write !=", "<> is not an operator")
	case t.Value == "&":
		says("expression-syntax", "write and", "& is not an operator")
	case t.Value == "|":
		says("expression-forbidden", "write or, or f(x) instead of x | f()", "| is not possible in an expression")
	case t.Value == "~" || t.Value == "=~":
		says("expression-syntax", "write matches", "%s is not an operator", t.Value)
	case t.Value == ";" || t.Value == "let":
		says("expression-forbidden", "repeat the term", "%s is not possible: an expression is one condition", t.Value)
	case t.Value == "if" || t.Value == "else":
		says("expression-forbidden", "write condition ? this : that", "%s is not possible in an expression", t.Value)
	case t.Value == "::":
		says("expression-forbidden", "", ":: is not possible in an expression")
	case t.Value == "?.":
		says("expression-forbidden", "guard the field with has(), or give a value with ??", "?. is not possible in an expression")
	}
}

// continues reports whether the token follows another operator without a
// space, so that the one before was already reported.
func (p *parsing) continues(t lexer.Token) bool {
	before := cut(p.e.source, t.From-1, t.From)
	return t.From > 0 && (before == "=" || before == "!")
}

func (p *parsing) identifier(t lexer.Token, says func(code, hint, format string, args ...any)) {
	switch lower := strings.ToLower(t.Value); {
	case strings.HasPrefix(t.Value, "$"):
		says("expression-forbidden", "name the field itself: args.x", "%s is not possible in an expression", t.Value)
	case lower == "null" || lower == "nil" || lower == "none" && !p.called(t) || lower == "undefined":
		says("expression-forbidden", "ask has(args.x), or give a value: args.x ?? 0", "%s: an absent value cannot be compared", t.Value)
	case lower == t.Value:
	case lower == "and" || lower == "or" || lower == "not" || lower == "in" || lower == "matches" || lower == "true" || lower == "false":
		says("expression-syntax", "write "+lower, "%s is not a word of expressions", t.Value)
	}
}

func (p *parsing) called(t lexer.Token) bool {
	return strings.HasPrefix(strings.TrimSpace(cut(p.e.source, t.To, len(p.e.source))), "(")
}

func (p *parsing) brackets() {
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	var open []lexer.Token
	for _, t := range p.e.tokens {
		switch {
		case t.Kind != lexer.Bracket:
		case closing[t.Value] != "":
			open = append(open, t)
		case len(open) == 0:
			p.out.Errorf(p.at(t.From), "expression-syntax", "%q closes nothing", t.Value)
			return
		case closing[open[len(open)-1].Value] != t.Value:
			first := open[len(open)-1]
			p.out.Errorf(p.at(t.From), "expression-syntax", "%q does not close %q", t.Value, first.Value).Also(p.at(first.From), "opened here")
			return
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t := open[len(open)-1]
		p.out.Errorf(p.at(t.From), "expression-syntax", "%q is never closed", t.Value)
	}
}

// parse calls the parser of expr. It is foreign code that reads what users
// write: a panic in it is a mistake in one expression, not in the server.
func (p *parsing) parse() (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			p.out.Errorf(p.e.at, "expression-syntax", "the expression cannot be parsed: %v", r)
			ok = false
		}
	}()
	tree, err := parser.ParseWithConfig(p.e.source, &conf.Config{MaxNodes: MaxNodes})
	if err != nil {
		p.syntax(err)
		return false
	}
	p.e.root = tree.Node
	return true
}

func (p *parsing) syntax(err error) {
	var at *file.Error
	if !errors.As(err, &at) {
		p.out.Errorf(p.e.at, "expression-syntax", "the expression cannot be parsed: %v", err)
		return
	}
	code, hint, message := "expression-syntax", "", at.Message
	switch word := cut(p.e.source, at.From, at.To); {
	case strings.Contains(message, "maximum allowed nodes"):
		code, message, hint = "expression-size", fmt.Sprintf("the expression has more than %d parts", MaxNodes), "split it into several rules"
	case strings.Contains(message, "coalesce"):
		message, hint = "?? beside another operator needs brackets", "write (args.n ?? 0) > 3"
	case strings.HasPrefix(message, "unexpected token EOF"), strings.HasPrefix(message, "unexpected end"):
		message = "the expression ends too early"
	case strings.HasPrefix(message, "unexpected token"):
		message, hint = fmt.Sprintf("%q does not belong here", word), operatorHint(word)
	case strings.HasPrefix(message, "unrecognized character"):
		message, hint = fmt.Sprintf("%q does not belong here", word), quoteHint(word)
	case strings.Contains(message, "literal not terminated"):
		message, hint = "the text has no closing quote", "a quote is closed by the same quote, on the same line"
	case strings.Contains(message, "literal"):
		hint = "a whole number lies between -9223372036854775807 and 9223372036854775807"
	}
	p.out.Errorf(p.at(at.From), code, "%s", message).Hinted("%s", hint)
}

func operatorHint(word string) string {
	switch word {
	case "contains", "startsWith", "endsWith", "matches", "in":
		return "write it between two values: args.x " + word + " …"
	}
	return ""
}

func quoteHint(word string) string {
	if strings.ContainsAny(word, "‘’“”«»„") {
		return "write texts in plain quotes: '…'"
	}
	return "write texts in quotes: '…'"
}
