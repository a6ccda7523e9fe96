package condition

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// guards are the paths that are known to be present at some place, as texts.
type guards []string

func (g guards) with(more guards) guards { return append(slices.Clip(g), more...) }

func (g guards) both(other guards) guards {
	var out guards
	for _, key := range g {
		if slices.Contains(other, key) {
			out = append(out, key)
		}
	}
	return out
}

// scan refuses what is not part of the language, finds the paths and what
// guards them, and compiles the patterns: all that needs no types.
func (p *parsing) scan() {
	p.e.paths, p.e.patterns = map[ast.Node]*path{}, map[ast.Node]*regexp.Regexp{}
	if size(p.e.root) > MaxNodes {
		p.out.Errorf(p.e.at, "expression-size", "the expression has more than %d parts", MaxNodes).Hinted("split it into several rules")
		return
	}
	p.visit(p.e.root, nil)
}

func (p *parsing) refuse(n ast.Node, hint, format string, args ...any) {
	p.out.Errorf(p.e.position(n), "expression-forbidden", format, args...).Hinted("%s", hint)
}

// visit walks a node where the given paths are present, and returns what else
// is present when the node is true and when it is false.
func (p *parsing) visit(n ast.Node, known guards) (whenTrue, whenFalse guards) {
	switch n := n.(type) {
	case *ast.BoolNode, *ast.IntegerNode, *ast.StringNode:
	case *ast.FloatNode:
		p.fraction(n)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.PointerNode:
		p.path(n, known, false)
	case *ast.UnaryNode:
		switch operator(n.Operator) {
		case "not":
			whenFalse, whenTrue = p.visit(n.Node, known)
			return whenTrue, whenFalse
		case "+":
			p.refuse(n, "leave it out", "a + before a value does nothing")
		default:
			p.visit(n.Node, known)
		}
	case *ast.BinaryNode:
		return p.binary(n, known)
	case *ast.ConditionalNode:
		condTrue, condFalse := p.visit(n.Cond, known)
		leftTrue, leftFalse := p.visit(n.Exp1, known.with(condTrue))
		rightTrue, rightFalse := p.visit(n.Exp2, known.with(condFalse))
		return condTrue.with(leftTrue).both(condFalse.with(rightTrue)), condTrue.with(leftFalse).both(condFalse.with(rightFalse))
	case *ast.CallNode:
		return p.call(n, known)
	case *ast.BuiltinNode:
		p.builtin(n, known)
	case *ast.ArrayNode:
		for _, item := range n.Nodes {
			p.visit(item, known)
		}
	case *ast.SliceNode:
		p.refuse(n, "use startsWith, endsWith or matches", "a part [a:b] is not possible in an expression")
	case *ast.MapNode, *ast.PairNode:
		p.refuse(n, "", "an object is not possible in an expression")
	default:
		p.refuse(n, "", "%s is not possible in an expression", p.e.text(n))
	}
	return nil, nil
}

func (p *parsing) binary(n *ast.BinaryNode, known guards) (whenTrue, whenFalse guards) {
	switch op := operator(n.Operator); op {
	case "and":
		leftTrue, leftFalse := p.visit(n.Left, known)
		rightTrue, rightFalse := p.visit(n.Right, known.with(leftTrue))
		return leftTrue.with(rightTrue), leftFalse.both(leftTrue.with(rightFalse))
	case "or":
		leftTrue, leftFalse := p.visit(n.Left, known)
		rightTrue, rightFalse := p.visit(n.Right, known.with(leftFalse))
		return leftTrue.both(leftFalse.with(rightTrue)), leftFalse.with(rightFalse)
	case "??":
		p.soft(n.Left, known)
		p.visit(n.Right, known)
	case "in":
		p.visit(n.Left, known)
		if list, ok := n.Right.(*ast.BinaryNode); ok && list.Operator == ".." {
			p.visit(list.Left, known)
			p.visit(list.Right, known)
			return nil, nil
		}
		p.visit(n.Right, known)
	case "matches":
		p.visit(n.Left, known)
		p.pattern(n.Right)
	case "..":
		p.refuse(n, "write x in 1..5", "a range is possible only after in")
	case "**", "^":
		p.refuse(n, "write the number", "powers are not possible in an expression")
	case "|", ";":
		p.refuse(n, "", "%s is not possible in an expression", op)
	default:
		p.visit(n.Left, known)
		p.visit(n.Right, known)
	}
	return nil, nil
}

// soft visits the left side of ??, whose absence is handled.
func (p *parsing) soft(n ast.Node, known guards) {
	switch n := n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.PointerNode:
		p.path(n, known, true)
		return
	case *ast.BinaryNode:
		if n.Operator == "??" {
			p.soft(n.Left, known)
			p.soft(n.Right, known)
			return
		}
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.ArrayNode:
		// The last of a ?? b ?? c may be a literal; it is checked when bound.
		p.visit(n, known)
		return
	}
	p.refuse(n, "write it directly after the field: lower(args.x ?? '')", "the left side of ?? is not a field")
}

func (p *parsing) pattern(n ast.Node) {
	literal, ok := n.(*ast.StringNode)
	if !ok {
		p.refuse(n, "write the pattern as a text in quotes", "a pattern must be constant")
		return
	}
	compiled, err := regexp.Compile(literal.Value)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		p.out.Errorf(p.e.position(n), "expression-pattern", "the pattern is not RE2: %s", reason).
			Hinted("RE2 has no look-around and no back-references")
		return
	}
	p.e.patterns[n] = compiled
	if tree, err := syntax.Parse(literal.Value, syntax.Perl); err == nil && !anchored(tree.Simplify()) {
		p.out.Warnf(p.e.position(n), "unanchored-pattern", "the pattern also matches inside a longer text").
			Hinted("write '^(?:%s)$', or use startsWith, endsWith or contains", strings.Trim(literal.Value, "^$"))
	}
}

// anchored reports whether every match of a pattern is the whole text.
func anchored(tree *syntax.Regexp) bool { return edge(tree, true) && edge(tree, false) }

func edge(tree *syntax.Regexp, start bool) bool {
	switch tree.Op {
	case syntax.OpNoMatch:
		return true
	case syntax.OpBeginText:
		return start
	case syntax.OpEndText:
		return !start
	case syntax.OpCapture:
		return edge(tree.Sub[0], start)
	case syntax.OpConcat:
		if start {
			return edge(tree.Sub[0], start)
		}
		return edge(tree.Sub[len(tree.Sub)-1], start)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool { return !edge(sub, start) })
	}
	return false
}

// fraction refuses what a float64 would silently round.
func (p *parsing) fraction(n *ast.FloatNode) {
	digits := strings.TrimLeft(strings.NewReplacer(".", "", "_", "").Replace(p.e.text(n)), "0")
	if mantissa, _, found := strings.Cut(strings.ToLower(digits), "e"); len(mantissa) > 15 || found {
		p.out.Errorf(p.e.position(n), "expression-type", "the number %s cannot be kept exactly", p.e.text(n)).
			Hinted("write at most 15 digits without exponent, or decimal('…')")
	}
}

func (p *parsing) call(n *ast.CallNode, known guards) (whenTrue, whenFalse guards) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		p.method(n)
		return nil, nil
	}
	switch callee.Value {
	case "has":
		return p.has(n, known), nil
	case "decimal":
		if len(n.Arguments) != 1 {
			p.refuse(n, "", "decimal takes one value")
			return nil, nil
		}
		p.visit(n.Arguments[0], known)
		return nil, nil
	}
	p.refuse(n, functionHint(callee.Value), "there is no function %s", callee.Value)
	return nil, nil
}

func (p *parsing) method(n *ast.CallNode) {
	hint := "functions stand before their values: len(args.x)"
	if member, ok := n.Callee.(*ast.MemberNode); ok {
		if name, ok := member.Property.(*ast.StringNode); ok {
			hint = methodHint(name.Value)
		}
	}
	p.refuse(n, hint, "values have no methods")
}

func (p *parsing) has(n *ast.CallNode, known guards) guards {
	if len(n.Arguments) != 1 {
		p.refuse(n, "write has(args.x)", "has takes one field")
		return nil
	}
	switch n.Arguments[0].(type) {
	case *ast.MemberNode:
	default:
		p.refuse(n, "write has(args.x)", "has takes a field")
		return nil
	}
	found := p.path(n.Arguments[0], known, true)
	if found == nil {
		return nil
	}
	present := found.keys()
	if len(present) < len(found.steps) {
		p.refuse(n, "", "has takes a field or an element whose place is written out")
		return nil
	}
	return present
}

func (p *parsing) builtin(n *ast.BuiltinNode, known guards) {
	function, ok := functionOf(n.Name)
	if !ok {
		p.refuse(n, functionHint(n.Name), "there is no function %s", n.Name)
		return
	}
	if got := len(n.Arguments); got != function.arguments {
		p.refuse(n, "write "+function.Example, "%s takes %s, not %d", n.Name, plural(function.arguments, "value"), got)
		return
	}
	for _, argument := range n.Arguments {
		predicate, ok := argument.(*ast.PredicateNode)
		if !ok {
			p.visit(argument, known)
			continue
		}
		if p.deep++; p.deep > MaxNesting {
			p.out.Errorf(p.e.position(n), "expression-size", "more than %d predicates inside each other", MaxNesting)
		} else {
			p.visit(predicate.Node, known)
		}
		p.deep--
	}
}

// path takes a chain of members apart and notes what is known of it.
func (p *parsing) path(n ast.Node, known guards, soft bool) *path {
	found := &path{node: n, soft: soft}
	for at := n; ; {
		switch node := at.(type) {
		case *ast.IdentifierNode:
			found.root = node.Value
		case *ast.PointerNode:
			if node.Name != "" {
				p.refuse(node, "the element itself is #", "#%s is not possible in an expression", node.Name)
				return nil
			}
			found.depth = p.deep
		case *ast.MemberNode:
			found.steps = append(found.steps, p.step(node, known))
			at = node.Node
			continue
		case *ast.CallNode, *ast.BuiltinNode, *ast.BinaryNode, *ast.ConditionalNode, *ast.ArrayNode:
			p.refuse(n, "compare the value itself", "only a field can have fields")
			return nil
		default:
			p.visit(at, known)
			p.refuse(n, "", "only a field can have fields")
			return nil
		}
		break
	}
	slices.Reverse(found.steps)
	for i, key := range found.keys() {
		if slices.Contains(known, key) {
			found.guarded = i + 1
		}
	}
	if earlier := p.e.paths[n]; earlier != nil {
		earlier.guarded, earlier.soft = min(earlier.guarded, found.guarded), earlier.soft && soft
		return earlier
	}
	p.e.paths[n] = found
	p.e.order = append(p.e.order, found)
	return found
}

func (p *parsing) step(n *ast.MemberNode, known guards) step {
	if name, ok := n.Property.(*ast.StringNode); ok {
		return step{name: name.Value, node: n}
	}
	p.visit(n.Property, known)
	return step{index: n.Property, node: n}
}

// keys gives one text for each leading step whose place is constant.
func (p *path) keys() guards {
	key := p.root
	if key == "" {
		key = "#" + strconv.Itoa(p.depth)
	}
	var keys guards
	for _, s := range p.steps {
		switch index := s.index.(type) {
		case nil:
			key += "." + strconv.Quote(s.name)
		case *ast.IntegerNode:
			key += "[" + strconv.Itoa(index.Value) + "]"
		default:
			return keys
		}
		keys = append(keys, key)
	}
	return keys
}

func plural(n int, word string) string {
	if n == 1 {
		return "one " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
