package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/reports/bench"
)

// TestMetricsAreDocumented checks the table of metrics in docs/reference/suites.md. With -update it writes the table.
func TestMetricsAreDocumented(t *testing.T) {
	const from, to = "<!-- metrics -->\n", "<!-- end of metrics -->\n"
	file := filepath.Join("..", "..", "docs", "reference", "suites.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), from)
	_, after, closed := strings.Cut(rest, to)
	if !ok || !closed {
		t.Fatalf("%s has no place for the metrics", file)
	}
	var b strings.Builder
	b.WriteString(before + from + "\n| metric | unit | better | what it is |\n|---|---|---|---|\n")
	for _, m := range bench.Metrics() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Unit, map[int]string{1: "more", -1: "less"}[m.Better], m.Doc)
	}
	b.WriteString("\n" + to + after)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(text) {
		t.Errorf("%s does not say what the table of metrics does: -update writes it anew", file)
	}
}
