package decision

import (
	"bytes"
	"os"
	"testing"

	"lockbench/reports/selection"
)

// FuzzReport checks any report file. The file must be rejected, or give the same report and pages each time it is read.
func FuzzReport(f *testing.F) {
	text, err := os.ReadFile("../../../examples/inventory/" + selection.DataName)
	if err != nil {
		f.Fatal(err)
	}
	options, e := passingLock(1)
	data, err := selection.Data(Decide(simple(), options, e))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(data)
	f.Add([]byte(`{"lockbench_advice":2}`))
	f.Add([]byte(`{"lockbench_advice":2,"options":[{"name":"x","kind":"lock","lease":"fixed"}],"findings":[{"id":"P1","lock":"x","property":"mutual-exclusion","observed":"holds"}],"figures":[{"lock":"x","metric":"goodput"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := selection.ReadData(data)
		if err != nil {
			return
		}
		once, err := selection.Forms(Decide(r.Needs, r.Options, r.Evidence))
		if err != nil {
			return
		}
		twice, err := selection.Forms(Decide(r.Needs, r.Options, r.Evidence))
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
