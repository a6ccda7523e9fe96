package condition

import (
	"iter"

	"github.com/expr-lang/expr/ast"
)

// children lists the nodes below a node, in the order of the source.
func children(n ast.Node) []ast.Node {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return []ast.Node{n.Node}
	case *ast.BinaryNode:
		return []ast.Node{n.Left, n.Right}
	case *ast.ChainNode:
		return []ast.Node{n.Node}
	case *ast.MemberNode:
		return []ast.Node{n.Node, n.Property}
	case *ast.SliceNode:
		return present(n.Node, n.From, n.To)
	case *ast.CallNode:
		return append([]ast.Node{n.Callee}, n.Arguments...)
	case *ast.BuiltinNode:
		return n.Arguments
	case *ast.PredicateNode:
		return []ast.Node{n.Node}
	case *ast.ConditionalNode:
		return []ast.Node{n.Cond, n.Exp1, n.Exp2}
	case *ast.VariableDeclaratorNode:
		return []ast.Node{n.Value, n.Expr}
	case *ast.SequenceNode:
		return n.Nodes
	case *ast.ArrayNode:
		return n.Nodes
	case *ast.MapNode:
		return n.Pairs
	case *ast.PairNode:
		return []ast.Node{n.Key, n.Value}
	}
	return nil
}

func present(nodes ...ast.Node) []ast.Node {
	var out []ast.Node
	for _, n := range nodes {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

// descendants yields a node and everything below it. The parser shares a
// middle term of 1 < x < 5 between two comparisons: it is yielded twice.
func descendants(n ast.Node) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) { descend(n, yield) }
}

func descend(n ast.Node, yield func(ast.Node) bool) bool {
	if n == nil {
		return true
	}
	if !yield(n) {
		return false
	}
	for _, child := range children(n) {
		if !descend(child, yield) {
			return false
		}
	}
	return true
}

// size counts the nodes, and stops above the bound: a term that the parser
// shares, in a term that it shares, would be walked 2^depth times.
func size(n ast.Node) int {
	count := 0
	for range descendants(n) {
		if count++; count > MaxNodes {
			break
		}
	}
	return count
}

// operator gives and, or, not their one name.
func operator(word string) string {
	switch word {
	case "&&":
		return "and"
	case "||":
		return "or"
	case "!":
		return "not"
	}
	return word
}

// chain takes a and b and c apart.
func chain(n ast.Node, op string) []ast.Node {
	if binary, ok := n.(*ast.BinaryNode); ok && operator(binary.Operator) == op {
		return append(chain(binary.Left, op), chain(binary.Right, op)...)
	}
	return []ast.Node{n}
}
