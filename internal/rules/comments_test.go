package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// selfExplanatory lists methods of well-known interfaces. They need no comment.
var selfExplanatory = []string{"String", "Error", "Unwrap", "Read", "Write", "ServeHTTP", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON"}

// riddle matches the first words of a comment that describes an identifier only indirectly. An example is `x tells`.
var riddle = regexp.MustCompile(`^\w+ (is|are|was) (what|how|who|whether|when|where|why|whatever|which)\b|^\w+ tells?\b`)

// TestComments checks that every exported identifier has a comment that begins with its name. Every package must have a
// package comment. No comment may begin with words that the pattern riddle matches.
func TestComments(t *testing.T) {
	described, folders := map[string]bool{}, map[string]bool{}
	report := func(path string, line int, problem string) { t.Errorf("%s:%d: %s", path, line, problem) }
	eachFile(t, func(folder, path string, fset *token.FileSet, file *ast.File) {
		folders[folder] = true
		described[folder] = described[folder] || file.Doc.Text() != ""
		for _, d := range file.Decls {
			for _, problem := range problemsOf(d) {
				report(strings.TrimPrefix(filepath.ToSlash(path), "../../"), fset.Position(d.Pos()).Line, problem)
			}
		}
	})
	eachText(t, func(x text) {
		if m := riddle.FindString(strings.TrimSpace(x.text)); m != "" && x.kind == comments {
			report(x.path, x.line, fmt.Sprintf("the comment begins %q: say returns, reports whether, holds, or what it is", m))
		}
	})
	for folder := range folders {
		if !described[folder] {
			t.Errorf("%s: no package comment", folder)
		}
	}
}

// problemsOf returns the problems with the comments of a declaration.
func problemsOf(d ast.Decl) (problems []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			problems = append(problems, problemOf(d.Name.Name, d.Doc, slices.Contains(selfExplanatory, d.Name.Name) && d.Recv != nil)...)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				if s.Name.IsExported() {
					problems = append(problems, problemOf(s.Name.Name, doc, false)...)
				}
			case *ast.ValueSpec:
				if d.Lparen.IsValid() { // one comment may describe all constants or variables of a group
					if name := s.Names[0].Name; ast.IsExported(name) && s.Doc == nil && s.Comment == nil && !strings.Contains(commentsIn(d), name) {
						problems = append(problems, name+" has no comment")
					}
				} else if s.Names[0].IsExported() {
					problems = append(problems, problemOf(s.Names[0].Name, d.Doc, false)...)
				}
			}
		}
	}
	return problems
}

func problemOf(name string, doc *ast.CommentGroup, optional bool) []string {
	text := doc.Text()
	switch {
	case text == "" && optional:
		return nil
	case text == "":
		return []string{name + " has no comment"}
	case !regexp.MustCompile(`^(A |An |The |Deprecated: )?` + name + `\b`).MatchString(text):
		return []string{fmt.Sprintf("the comment of %s begins %q", name, strings.SplitN(text, "\n", 2)[0])}
	}
	return nil
}

// commentsIn returns the text of the comments on single constants or variables in a group. If the group itself has a
// comment, it also returns the name of each constant or variable, because the comment of the group covers all of them.
func commentsIn(d *ast.GenDecl) (all string) {
	for _, spec := range d.Specs {
		s := spec.(*ast.ValueSpec)
		all += s.Doc.Text()
		if d.Doc != nil {
			all += " " + s.Names[0].Name
		}
	}
	return all
}

// receiver returns the name of the receiver type of a method.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
