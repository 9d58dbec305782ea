package examples

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"lockbench/internal/choose/advisor"
	"lockbench/internal/choose/decision"
	"lockbench/internal/choose/requirements"
	"lockbench/reports/selection"
)

var update = flag.Bool("update", false, "write the reports again, from the evidence in them and the current table of locks")

// TestReports checks that each stored selection report belongs to its requirements file, and that its recommendation
// follows from its evidence.
func TestReports(t *testing.T) {
	for _, name := range []string{"inventory", "cron-leader", "payment-ledger"} {
		read := func(file string) []byte {
			text, err := os.ReadFile(filepath.FromSlash(file))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		n, err := requirements.Parse(name+".yaml", read(name+".yaml"), requirements.Known{})
		if err != nil {
			t.Fatal(err)
		}
		var from struct { // data stored with the report: the requirements, candidates and evidence on which its decision is based
			Needs   selection.Needs    `json:"needs"`
			Options []selection.Option `json:"options"`
			selection.Evidence
		}
		if err := json.Unmarshal(read(name+"/"+selection.DataName), &from); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(n, from.Needs) {
			t.Errorf("%s: the report is for other requirements:\n%+v\n%+v", name, from.Needs, n)
		}
		if *update {
			from.Options = advisor.Options(n)
		}
		forms, err := selection.Forms(decision.Decide(from.Needs, from.Options, from.Evidence))
		if err != nil {
			t.Fatal(err)
		}
		for file, want := range forms {
			if *update {
				if err := os.WriteFile(filepath.Join(name, file), want, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if !bytes.Equal(read(name+"/"+file), want) {
				t.Errorf("%s/%s does not follow from its evidence: lockbench verify-report --data-only says where", name, file)
			}
		}
	}
}
