package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Flags are the one thing of a test that must stand at the top.
var (
	update = flag.Bool("update", false, "write the golden files anew")
	keep   = flag.String("keep", "", "leave the sample run and its report in this folder, to be looked at")
)

func buildSample(t *testing.T) (string, *Results) {
	t.Helper()
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep
	}
	writeSample(t, dir)
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		put(t, file, got)
	}
	if diff := cmp.Diff(string(read(t, file)), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	dir, r := buildSample(t)
	var plain bytes.Buffer
	if err := r.Text(&plain, false); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", plain.Bytes())
	golden(t, "report.md", read(t, dir, "report", "report.md"))
}
