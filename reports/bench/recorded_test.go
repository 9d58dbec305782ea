package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRecorded checks that testdata/synthetic.json holds the generated bench data of seed 1, rounded to four digits.
// Tests of other packages use this file.
func TestRecorded(t *testing.T) {
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	r := quick(t, options{Seed: 1})
	var trials []string
	for _, trial := range r.Trials {
		for name, v := range trial.Figures {
			trial.Figures[name], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		}
		trials = append(trials, encode(trial))
	}
	got := fmt.Sprintf("{\"plan\": %s,\n\"trials\": [\n%s\n]}\n", encode(r.Plan), strings.Join(trials, ",\n"))
	file := filepath.Join("testdata", "synthetic.json")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s holds another bench (%v): write it anew with -update", file, err)
	}
}
