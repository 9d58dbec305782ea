// Package rules tests rules for the source code of this module, such as allowed imports and the maximum length of functions.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport repeats the import table of docs/design.md: for each folder, the folders that it may import. A folder includes
// its subfolders, unless they have a separate row. Packages in the same folder of the table may import each other.
var mayImport = map[string][]string{
	"histories":         {},
	"impls":             {"histories"}, // package impls describes expectations with types of package histories
	"impls/locktest":    {"histories", "impls", "workloads", "checker", "internal/drive", "internal/simulate", "internal/world"},
	"workloads":         {"histories", "impls"},
	"checker":           {"histories"},
	"reports/stats":     {},
	"reports/format":    {},
	"reports/charts":    {"reports/format"},
	"reports/html":      {"reports/format", "reports/charts"},
	"reports/figures":   {"histories"},
	"reports/run":       {"histories", "checker", "reports/figures", "reports/stats", "reports/format", "reports/charts", "reports/html"},
	"reports/bench":     {"histories", "checker", "reports/figures", "reports/stats", "reports/format", "reports/charts", "reports/html", "reports/run"},
	"reports/matrix":    {"histories", "checker", "reports/figures", "reports/format", "reports/charts", "reports/html", "reports/run"},
	"reports/campaign":  {"reports/run"},
	"reports/selection": {"checker", "reports"},

	"internal/suggest":  {},
	"internal/yamlfile": {"internal/suggest", "reports/format"},
	"internal/world":    {},
	"internal/drive":    {"histories", "impls", "workloads", "checker", "internal/world"},
	"internal/measure":  {"histories", "impls", "workloads", "checker", "reports", "internal/drive", "internal/world", "internal/yamlfile", "internal/suggest", "internal/fleet"},
	"internal/fleet":    {},
	"internal/simulate": {"histories", "impls", "workloads", "checker", "internal/drive", "internal/world", "internal/yamlfile", "internal/fleet"},
	"internal/choose":   {"histories", "impls", "workloads", "checker", "reports", "internal/drive", "internal/measure", "internal/yamlfile", "internal/suggest"},
	"internal/web":      {"histories", "checker", "reports"},
	"internal/cli":      {"histories", "impls", "workloads", "checker", "reports", "internal"},
	"internal/mutants":  {"impls", "internal/drive", "internal/simulate"},
	"internal/rules":    {},
	"cmd/lockbench":     {"impls", "internal/cli"},
	"examples":          {"impls"},
}

// Maximum number of lines of a function and of a file.
const (
	maxFunction = 60
	maxFile     = 400
)

// crowded holds the maximum number of files for some folders. Files in their subfolders are not counted.
var crowded = map[string]int{"impls": 12, "checker": 12, "reports": 12, "internal/cli": 12}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(folder, path string, fset *token.FileSet, file *ast.File) {
		room := roomOf(folder)
		if room == "" {
			t.Errorf("%s: the folder %s is not in the import table", path, folder)
			return
		}
		seen[room] = true
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			ours, ok := strings.CutPrefix(name, "lockbench/")
			if ok && roomOf(ours) != room && !slices.ContainsFunc(mayImport[room], func(allowed string) bool { return within(ours, allowed) }) {
				t.Errorf("%s: %s may not import %s", fset.Position(spec.Pos()), room, ours)
			}
		}
	})
	for room := range mayImport {
		if !seen[room] && room != "internal/rules" {
			t.Errorf("no file of %s was read: the table or this test is wrong", room)
		}
	}
}

// roomOf returns the key of the map mayImport that applies to a folder: the longest key that equals the folder or
// contains it. If there is no such key, roomOf returns "".
func roomOf(folder string) string {
	longest := ""
	for room := range mayImport {
		if within(folder, room) && len(room) > len(longest) {
			longest = room
		}
	}
	return longest
}

func within(folder, room string) bool { return folder == room || strings.HasPrefix(folder, room+"/") }

func TestShape(t *testing.T) {
	files := map[string]int{}
	eachFile(t, func(folder, path string, fset *token.FileSet, file *ast.File) {
		files[folder]++
		if n := fset.Position(file.End()).Line; n > maxFile {
			t.Errorf("%s: %d lines, at most %d", path, n, maxFile)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines, at most %d", fset.Position(f.Pos()), f.Name.Name, n, maxFunction)
			}
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: no init(): variants stand in an explicit table", fset.Position(f.Pos()))
			}
		}
	})
	for folder, most := range crowded {
		if n := files[folder]; n > most {
			t.Errorf("%s: %d files, at most %d", folder, n, most)
		}
	}
}

// eachFile parses every Go file of the module except tests.
func eachFile(t *testing.T, visit func(room, path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		visit(filepath.ToSlash(dir), path, fset, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
