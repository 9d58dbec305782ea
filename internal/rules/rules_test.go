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
	"reports/format":         {"reports"},
	"reports/charts":       {"reports/format"},
	"reports/bench":     {"reports", "reports/figures", "reports/format", "reports/charts"},
	"reports/selection":  {"checker", "reports", "internal/choose/decision", "reports/bench", "reports/charts", "reports/format"},
	"internal/choose/decision":        {"histories", "checker", "reports", "reports/bench", "reports/figures", "reports/format"},
	"internal/world/children":     {},
	"internal/web/chromium":     {},
	"internal/world/servers":      {"internal/world/children"},
	"internal/world/builtin":      {},
	"internal/fakemongo":    {},
	"internal/drive/faults":       {"impls", "workloads"},
	"internal/world/proxy":        {},
	"internal/drive/workers":      {"impls", "impls/worker", "workloads", "internal/world/children"},
	"internal/drive/inject":       {"histories", "workloads", "internal/drive/faults", "internal/world/proxy"},
	"internal/simulate/sim":          {"impls", "workloads", "histories", "internal/drive/faults", "internal/drive/inject", "internal/world/proxy"},
	"internal/simulate/counterexample":      {"workloads", "histories", "checker", "internal/drive/faults"},
	"internal/simulate/explore":      {"impls", "workloads", "histories", "checker", "internal/drive/faults", "internal/simulate/sim", "internal/simulate/counterexample"},
	"internal/drive/shop":         {"histories", "impls", "workloads", "internal/world/children"},
	"internal/drive/trial":        {"histories", "impls", "impls/worker", "workloads", "checker", "internal/world/children", "internal/world/servers", "internal/drive/faults", "internal/drive/inject", "internal/world/proxy", "internal/drive/workers", "internal/drive/shop"},
	"internal/measure":        {"histories", "impls", "workloads", "checker", "internal/drive/faults", "internal/world/servers", "internal/measure/suites", "internal/drive/trial", "reports/bench", "reports/figures"},
	"internal/drive/scenarios":    {"impls", "workloads", "internal/drive/faults", "internal/drive/trial"},
	"cmd/lockbench":         {"histories", "impls", "impls/worker", "workloads", "checker", "reports", "internal/world/children", "internal/world/servers", "internal/drive/faults", "internal/drive/trial", "internal/drive/workers", "internal/drive/scenarios", "internal/simulate/sim", "internal/simulate/explore", "internal/world/builtin", "internal/drive/shop", "internal/measure", "internal/suggest", "internal/measure/suites", "internal/web/serve", "internal/choose/advisor", "internal/choose/requirements", "internal/choose/decision", "reports/selection", "reports/bench"},
	"internal/choose/advisor":      {"checker", "histories", "impls", "workloads", "internal/measure", "internal/drive/faults", "internal/measure/suites", "internal/drive/trial", "internal/choose/decision", "reports/bench", "reports/figures"},
	"internal/keyed":        {"internal/suggest"},
	"internal/measure/suites":       {"reports/bench", "internal/keyed", "internal/suggest"},
	"internal/choose/requirements":        {"internal/choose/decision", "internal/keyed", "internal/suggest"},
	"internal/web/serve":        {"histories", "checker", "reports", "internal/choose/decision", "reports/bench"},
	"internal/suggest":      {},
	"internal/rules":        {},
	"examples/go-redislock": {"impls", "impls/worker"},

	"internal/keyed/keyedtest":        {"internal/keyed"},
	"reports/bench/benchtest": {"reports", "reports/bench"},
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
