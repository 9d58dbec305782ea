package run

import "testing"

func TestRatioToTheBest(t *testing.T) {
	commands := func(v float64) *float64 { return &v }
	all := []Measurement{
		{Lock: "floor", Standing: "not a lock", Goodput: Range{Median: 9000}, Commands: commands(1)},
		{Lock: "a", Goodput: Range{Median: 800}, Commands: commands(10)},
		{Lock: "b", Goodput: Range{Median: 400}, Commands: commands(5)},
	}
	want := map[string][2]string{"floor": {"", ""}, "a": {"best", "2.00×"}, "b": {"0.500×", "best"}}
	for _, f := range figureRows(all) {
		if got := [2]string{f.GoodputCell.Ratio, f.CommandsCell.Ratio}; got != want[f.Lock] {
			t.Errorf("%s: %v, want %v", f.Lock, got, want[f.Lock])
		}
	}
	for _, f := range figureRows(all[:2]) {
		if f.GoodputCell.Ratio != "" {
			t.Error("one lock alone has nothing to be compared with")
		}
	}
}

func TestSplitKeysCompareWithNothing(t *testing.T) {
	r := &Results{Measurements: []Measurement{
		{Lock: "one", Workload: "w", Keys: 1}, {Lock: "split", Workload: "w", Keys: 5},
		{Lock: "most", Workload: "many", Keys: 97}, {Lock: "all", Workload: "many", Keys: 100}, {Lock: "split", Workload: "many", Keys: 480},
	}}
	setStandings(r)
	for i, want := range []string{"", splitKeys, "", "", splitKeys} {
		if got := r.Measurements[i].Standing; got != want {
			t.Errorf("%s in %s: %q, want %q", r.Measurements[i].Lock, r.Measurements[i].Workload, got, want)
		}
	}
}
