package examples

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"lockbench/internal/choose/decision"
	"lockbench/internal/choose/requirements"
	"lockbench/reports/selection"
)

// TestReports: the report beside each file of needs is of these needs, and is what its evidence makes.
func TestReports(t *testing.T) {
	for _, name := range []string{"inventory", "cron-leader", "payment-ledger"} {
		read := func(file string) []byte {
			text, err := os.ReadFile(filepath.FromSlash(file))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		r, err := selection.ReadData(read(name + "/" + selection.DataName))
		if err != nil {
			t.Fatal(err)
		}
		n, err := requirements.Parse(name+".yaml", read(name+".yaml"), requirements.Known{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(n, r.Needs) {
			t.Errorf("%s: the report is of other needs:\n%+v\n%+v", name, r.Needs, n)
		}
		forms, err := selection.Forms(decision.Decide(r.Needs, r.Options, r.Evidence))
		if err != nil {
			t.Fatal(err)
		}
		for file, want := range forms {
			if !bytes.Equal(read(name+"/"+file), want) {
				t.Errorf("%s/%s is not what its evidence makes: lockbench verify-report --data-only says where", name, file)
			}
		}
	}
}
