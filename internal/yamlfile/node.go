package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A longer file is written by nobody, and a mistake in it would take long to find.
const (
	MaxBytes = 64 << 10
	MaxLines = 1000
)

// Kind is what a node is.
type Kind int

const (
	Word    Kind = iota // text
	Integer             // a whole number
	Float               // any other number
	Bool
	Null // no value, or a word for none
	List
	Map    // Content has keys and values in turn
	Alias  // refused everywhere
	Tagged // refused everywhere; Value is the tag
)

// Node is a value in a file, or an answer that could stand in one.
type Node struct {
	Kind         Kind
	Value        string // of a single value, without its quotes
	Quoted       bool
	Line, Column int
	Content      []*Node
}

// document returns the mapping that a file of a kind (a noun, for errors) consists of.
func document(name, kind string, whole []byte, keys []Key) (*Node, error) {
	if lines := bytes.Count(whole, []byte("\n")); len(whole) > MaxBytes || lines > MaxLines {
		return nil, fmt.Errorf("%s:1:1: the file has %d lines and %d bytes (want at most %d and %d)", name, lines, len(whole), MaxLines, MaxBytes)
	}
	file, err := parser.ParseBytes(whole, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(name, whole, err)
	}
	var docs []*ast.DocumentNode
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			docs = append(docs, doc)
		}
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s:1:1: the file is empty (want the keys of a %s, such as %s)", name, kind, strings.Join(required(keys), " and "))
	}
	if len(docs) > 1 {
		at := nodeOf(docs[1].Body)
		if docs[1].Start != nil {
			at.place(docs[1].Start)
		}
		return nil, mistakes{name, whole, []mistake{{at.Line, at.Column, fmt.Sprintf("another document begins here (want one %s in a file)", kind)}}}
	}
	return nodeOf(docs[0].Body), nil
}

// syntaxError returns where and why a file is no YAML at all.
func syntaxError(name string, whole []byte, err error) error {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		return fmt.Errorf("%s:1:1: this is no YAML: %s", name, printable(err.Error()))
	}
	p := at.GetToken().Position
	return mistakes{name, whole, []mistake{{p.Line, p.Column, "this is no YAML: " + printable(at.GetMessage())}}}
}

func required(keys []Key) []string {
	names := []string{}
	for _, k := range keys {
		if k.Required {
			names = append(names, k.Name)
		}
	}
	return names
}

// Scalar returns a single value, as it would be understood without quotes.
func Scalar(word string) *Node { return &Node{Kind: kindOf(word), Value: word} }

// number begins what is a number, if the rest is: inf and infinity are words.
var number = regexp.MustCompile(`^[-+]?\.?[0-9]`)

func kindOf(word string) Kind {
	switch strings.ToLower(word) {
	case "", "~", "null":
		return Null
	case "true", "false":
		return Bool
	}
	if !number.MatchString(word) {
		return Word
	}
	if _, err := strconv.ParseUint(strings.TrimLeft(word, "+-"), 0, 64); err == nil {
		return Integer
	}
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return Float
	}
	return Word
}

// nodeOf returns what the parser found. A mapping in more than one line stands where its first key does.
func nodeOf(from ast.Node) *Node {
	n := &Node{Value: from.GetToken().Value}
	n.place(from.GetToken())
	switch v := from.(type) {
	case *ast.MappingValueNode:
		n.pairs([]*ast.MappingValueNode{v}, false)
	case *ast.MappingNode:
		n.pairs(v.Values, v.IsFlowStyle)
	case *ast.SequenceNode:
		n.Kind = List
		for _, one := range v.Values {
			n.Content = append(n.Content, nodeOf(one))
		}
	case *ast.AnchorNode:
		return nodeOf(v.Value)
	case *ast.LiteralNode:
		n.Value, n.Quoted = v.Value.Value, true
	case *ast.StringNode:
		n.Value, n.Quoted = v.Value, v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType
		if !n.Quoted && n.Value != "" {
			n.Kind = kindOf(n.Value) // some numbers are text to the parser
		}
	case *ast.IntegerNode:
		n.Kind = Integer
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.Kind = Float
	case *ast.BoolNode:
		n.Kind = Bool
	case *ast.NullNode:
		if n.Kind = Null; v.Token.Type == token.ImplicitNullType {
			n.Column-- // right behind the colon
		}
	case *ast.AliasNode:
		n.Kind = Alias
	case *ast.TagNode:
		n.Kind = Tagged
	}
	return n
}

func (n *Node) place(at *token.Token) { n.Line, n.Column = at.Position.Line, at.Position.Column }

func (n *Node) pairs(values []*ast.MappingValueNode, flow bool) {
	n.Kind = Map
	for _, v := range values {
		n.Content = append(n.Content, nodeOf(v.Key), nodeOf(v.Value))
	}
	if !flow && len(n.Content) > 0 {
		n.Line, n.Column = n.Content[0].Line, n.Content[0].Column
	}
}

// At returns the node that a path of keys and places, such as sections.0.name, leads to, as far as there is one, and whether that
// is all the way.
func (n *Node) At(path string) (at *Node, found bool) {
	for step := range strings.SplitSeq(path, ".") {
		next := n.child(step)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

func (n *Node) child(step string) *Node {
	if i, err := strconv.Atoi(step); err == nil && n.Kind == List && i < len(n.Content) {
		return n.Content[i]
	}
	for i := 0; n.Kind == Map && i < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i+1]
		}
	}
	return nil
}
