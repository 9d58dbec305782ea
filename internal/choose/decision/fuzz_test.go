package decision

import (
	"bytes"
	"testing"

	"lockbench/internal/choose/decision"
)

// FuzzReport: whatever stands in the file of a report, it is refused, or worked out again and drawn, twice the same.
func FuzzReport(f *testing.F) {
	for _, r := range []*decision.Report{sample(), hostile(), bare()} {
		data, err := Data(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"lockbench_advice":1}`))
	f.Add([]byte(`{"lockbench_advice":1,"options":[{"name":"x","kind":"lock","lease":"fixed"}],"findings":[{"id":"P1","lock":"x","property":"mutual-exclusion","observed":"holds"}],"figures":[{"lock":"x","metric":"goodput"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadData(data)
		if err != nil {
			return
		}
		again := decision.Decide(r.Needs, r.Options, r.Evidence)
		once, err := Forms(again)
		if err != nil {
			return
		}
		twice, err := Forms(decision.Decide(r.Needs, r.Options, r.Evidence))
		if err != nil {
			t.Fatal(err)
		}
		for name := range once {
			if !bytes.Equal(once[name], twice[name]) {
				t.Errorf("%s differs", name)
			}
		}
	})
}
