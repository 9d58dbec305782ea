package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// text is a comment, a message or a document found in a file of the project.
type text struct {
	path string // path relative to the root of the module
	line int    // line number at which the text begins
	kind scope
	text string
}

var (
	inlineCode  = regexp.MustCompile("`[^`\n]*`")
	commentMark = regexp.MustCompile(`(?m)^\s*(//|--)`)
)

// blankOut replaces every match of the regular expression with spaces. It keeps line breaks, so that line
// numbers do not change.
func blankOut(code *regexp.Regexp, s string) string {
	return code.ReplaceAllStringFunc(s, func(m string) string { return strings.Map(blank, m) })
}

func blank(r rune) rune {
	if r == '\n' {
		return r
	}
	return ' '
}

// results lists folders of generated data, which are not checked.
var results = []string{"reports/published", "runs", "bin"}

// eachText calls visit for each document, message and comment of the project, without inline code.
func eachText(t *testing.T, visit func(text)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			for _, r := range results {
				if rel == r {
					return filepath.SkipDir
				}
			}
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		return textsOf(path, rel, visit)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func textsOf(path, rel string, visit func(text)) error {
	switch {
	case rel == "internal/rules/terms_test.go" || strings.HasPrefix(filepath.Base(rel), "advice."): // not checked: the table of forbidden terms, and generated results
		return nil
	case strings.HasSuffix(rel, ".go"):
		return goTexts(path, rel, visit)
	}
	switch filepath.Ext(rel) {
	case ".md", ".tmpl", ".json", ".yaml", ".yml":
		source, err := os.ReadFile(path)
		visit(text{rel, 1, pages, blankOut(inlineCode, string(source))})
		return err
	case ".patch":
		source, err := os.ReadFile(path)
		header, _, _ := strings.Cut(string(source), "\ndiff ")
		visit(text{rel, 1, pages, header})
		return err
	case ".lua":
		source, err := os.ReadFile(path)
		for i, line := range strings.Split(string(source), "\n") {
			if _, comment, ok := strings.Cut(line, "--"); ok {
				visit(text{rel, i + 1, comments, comment})
			}
		}
		return err
	}
	return nil
}

// goTexts visits the comments of a Go file. Unless the file is a test, it also visits string literals of two or more words.
func goTexts(path, rel string, visit func(text)) error {
	fset := token.NewFileSet()
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		raw := string(source[fset.Position(group.Pos()).Offset:fset.Position(group.End()).Offset])
		visit(text{rel, fset.Position(group.Pos()).Line, comments, blankOut(inlineCode, blankOut(commentMark, raw))})
	}
	if strings.HasSuffix(rel, "_test.go") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Tag = nil
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
				visit(text{rel, fset.Position(n.Pos()).Line, messages, n.Value[1 : len(n.Value)-1]})
			}
		}
		return true
	})
	return nil
}
