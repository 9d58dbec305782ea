package yamlfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/samber/lo"

	"lockbench/reports/format"
)

const (
	MaxBytes = 64 << 10 // maximum length of a YAML file
	MaxLines = 1000     // maximum number of lines of a YAML file
	MaxWrong = 10       // maximum number of mistakes listed in an error
)

// File holds a YAML or JSON file and the mistakes found in the file.
type File struct {
	name  string
	whole []byte
	at    map[string]ast.Node // nodes by path, such as $.sections[0].name
	json  bool                // whether the file is JSON; if so, text must be quoted and is not normalised, and lists may have any length
	all   []mistake
}

type mistake struct {
	line, column int
	text         string
}

// Read reads a YAML file into the variables of its keys. The error lists all mistakes. kind is the noun for the file in
// error messages.
func Read(name, kind string, whole []byte, keys []Key) (*File, error) {
	f := newFile(name, whole)
	if lines := bytes.Count(whole, []byte("\n")); len(whole) > MaxBytes || lines > MaxLines {
		return nil, f.fail(1, 1, "the file has %d lines and %d bytes (want at most %d and %d)", lines, len(whole), MaxLines, MaxBytes)
	}
	return f, f.read(kind, keys)
}

func newFile(name string, whole []byte) *File {
	return &File{name: name, whole: whole, at: map[string]ast.Node{}}
}

func (f *File) read(kind string, keys []Key) error {
	file, err := parser.ParseBytes(f.whole, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return f.syntax(err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil || d.Body.Type() == ast.CommentType })
	switch len(docs) {
	case 0:
		return f.fail(1, 1, "the file is empty (want the keys of a %s, such as %s)", kind, strings.Join(required(keys), " and "))
	case 1:
		f.mapping(docs[0].Body, keys)
		return f.Err()
	}
	line, column := position(docs[1].Body)
	if start := docs[1].Start; start != nil {
		line, column = start.Position.Line, start.Position.Column
	}
	return f.fail(line, column, "another document begins here (want one %s in a file)", kind)
}

// syntax returns a syntax error with its position.
func (f *File) syntax(err error) error {
	notation := lo.Ternary(f.json, "JSON", "YAML")
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		return f.fail(1, 1, "this is no %s: %s", notation, format.Clean(err.Error()))
	}
	p := at.GetToken().Position
	return f.fail(p.Line, p.Column, "this is no %s: %s", notation, format.Clean(at.GetMessage()))
}

func required(keys []Key) []string {
	return lo.FilterMap(keys, func(k Key, _ int) (string, bool) { return k.Name, k.Required })
}

// position returns the position of a node. For a mapping of several lines it is the position of the first key.
func position(n ast.Node) (line, column int) {
	p := n.GetToken().Position
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			p = n.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		p = n.Key.GetToken().Position
	case *ast.AnchorNode:
		return position(n.Value)
	case *ast.NullNode:
		if n.Token.Type == token.ImplicitNullType {
			return p.Line, p.Column - 1 // position of an empty value: directly after the colon
		}
	}
	return p.Line, p.Column
}

// Stated reports whether the file contains a value at a path, such as sections[0].name.
func (f *File) Stated(path string) bool { return f.at["$."+path] != nil }

// Wrong records a mistake in the value at a path of keys, such as sections[0].name. If the file lacks this path, the
// mistake is recorded at the longest prefix that exists.
func (f *File) Wrong(path, format string, args ...any) {
	path = "$." + path
	for f.at[path] == nil {
		path = path[:strings.LastIndexAny(path, ".[")]
	}
	f.wrong(f.at[path], format, args...)
}

func (f *File) wrong(at ast.Node, format string, args ...any) {
	line, column := position(at)
	f.fail(line, column, format, args...)
}

// Err returns all mistakes as an error, or nil if the file has no mistakes.
func (f *File) Err() error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b mistake) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column)) })
	return f
}

// Texts returns the message of each mistake in an error of this package, without the position.
func Texts(err error) []string {
	f := newFile("", nil)
	errors.As(err, &f)
	return lo.Map(f.all, func(m mistake, _ int) string { return m.text })
}

func (f *File) fail(line, column int, format string, args ...any) error {
	f.all = append(f.all, mistake{line, column, fmt.Sprintf(format, args...)})
	return f
}

func (f *File) Error() string {
	var b strings.Builder
	lines := strings.Split(string(f.whole), "\n")
	for _, one := range f.all[:min(MaxWrong, len(f.all))] {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", f.name, one.line, one.column, one.text)
		if one.line <= len(lines) {
			b.WriteString(excerpt(lines[one.line-1], one.column))
		}
	}
	if more := len(f.all) - MaxWrong; more > 0 {
		fmt.Fprintf(&b, "%s: and %d more\n", f.name, more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// excerpt returns a line of the file with a mark below a column, or "" if the line is long.
func excerpt(line string, column int) string {
	const longest = 120
	line = format.Clean(line)
	if strings.TrimSpace(line) == "" || len(line) > longest || column > longest {
		return ""
	}
	return fmt.Sprintf("    %s\n    %s^\n", strings.TrimRight(line, " "), strings.Repeat(" ", column-1))
}
