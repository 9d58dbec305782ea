// Package rules keeps the rules of the house: who may import whom, and how long a function may be.
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

// mayImport is the table of docs/design.md: each room, and the rooms of ours it may import. The record is
// the only link between the half that measures and the half that judges.
var mayImport = map[string][]string{
	"histories":             {},
	"impls":                 {},
	"impls/worker":          {"impls"},
	"workloads":             {"histories", "impls"},
	"checker":               {"histories"},
	"reports":               {"histories", "checker", "reports/figures"},
	"reports/figures":       {"histories"},
	"reports/words":         {"reports"},
	"reports/drawing":       {"reports/words"},
	"reports/benchmark":     {"reports", "reports/figures", "reports/words", "reports/drawing"},
	"reports/advice/pages":  {"checker", "reports", "reports/advice", "reports/benchmark", "reports/drawing", "reports/words"},
	"reports/advice":        {"histories", "checker", "reports", "reports/benchmark", "reports/figures", "reports/words"},
	"internal/children":     {},
	"internal/chromium":     {},
	"internal/servers":      {"internal/children"},
	"internal/builtin":      {},
	"internal/fakemongo":    {},
	"internal/faults":       {"impls", "workloads"},
	"internal/proxy":        {},
	"internal/workers":      {"impls", "impls/worker", "workloads", "internal/children"},
	"internal/inject":       {"histories", "workloads", "internal/faults", "internal/proxy"},
	"internal/sim":          {"impls", "workloads", "histories", "internal/faults", "internal/inject", "internal/proxy"},
	"internal/stories":      {"workloads", "histories", "checker", "internal/faults"},
	"internal/explore":      {"impls", "workloads", "histories", "checker", "internal/faults", "internal/sim", "internal/stories"},
	"internal/shop":         {"histories", "impls", "workloads", "internal/children"},
	"internal/trial":        {"histories", "impls", "impls/worker", "workloads", "checker", "internal/children", "internal/servers", "internal/faults", "internal/inject", "internal/proxy", "internal/workers", "internal/shop"},
	"internal/bench":        {"histories", "impls", "workloads", "checker", "internal/faults", "internal/servers", "internal/suites", "internal/trial", "reports/benchmark", "reports/figures"},
	"internal/scenarios":    {"impls", "workloads", "internal/faults", "internal/trial"},
	"cmd/lockbench":         {"histories", "impls", "impls/worker", "workloads", "checker", "reports", "internal/children", "internal/servers", "internal/faults", "internal/trial", "internal/workers", "internal/scenarios", "internal/sim", "internal/explore", "internal/builtin", "internal/shop", "internal/bench", "internal/suggest", "internal/suites", "internal/serve", "internal/advisor", "internal/needs", "reports/advice", "reports/advice/pages", "reports/benchmark"},
	"internal/advisor":      {"checker", "histories", "impls", "workloads", "internal/bench", "internal/faults", "internal/suites", "internal/trial", "reports/advice", "reports/benchmark", "reports/figures"},
	"internal/keyed":        {"internal/suggest"},
	"internal/suites":       {"reports/benchmark", "internal/keyed", "internal/suggest"},
	"internal/needs":        {"reports/advice", "internal/keyed", "internal/suggest"},
	"internal/serve":        {"histories", "checker", "reports", "reports/advice", "reports/benchmark"},
	"internal/suggest":      {},
	"internal/rules":        {},
	"examples/go-redislock": {"impls", "impls/worker"},

	"internal/keyed/keyedtest":        {"internal/keyed"},
	"reports/benchmark/benchmarktest": {"reports", "reports/benchmark"},
}

// The longest function and file. What does not fit is two things.
const (
	maxFunction = 70
	maxFile     = 450
)

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(room, path string, fset *token.FileSet, file *ast.File) {
		seen[room] = true
		allowed, known := mayImport[room]
		if !known {
			t.Errorf("%s: the folder %s is not in the import table", path, room)
		}
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			ours, ok := strings.CutPrefix(name, "lockbench/")
			if ok && !slices.Contains(allowed, ours) {
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

func TestShape(t *testing.T) {
	eachFile(t, func(_, path string, fset *token.FileSet, file *ast.File) {
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
}

// eachFile parses every Go file of the project that is no test.
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
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
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
