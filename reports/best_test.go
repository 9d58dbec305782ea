package reports

import "testing"

func TestRatioToTheBest(t *testing.T) {
	commands := func(v float64) *float64 { return &v }
	all := []Measurement{
		{Lock: "floor", Standing: "not a lock", Goodput: Range{Median: 9000}, Commands: commands(1)},
		{Lock: "a", Goodput: Range{Median: 800}, Commands: commands(10)},
		{Lock: "b", Goodput: Range{Median: 400}, Commands: commands(5)},
	}
	top := bestOf(all)
	want := map[string][2]string{"floor": {"", ""}, "a": {"best", "2.00×"}, "b": {"0.50×", "best"}}
	for _, m := range all {
		m.best = top
		f := cellOf(m)
		if got := [2]string{f.Goodput.Ratio, f.Commands.Ratio}; got != want[m.Lock] {
			t.Errorf("%s: %v, want %v", m.Lock, got, want[m.Lock])
		}
	}
	if bestOf(all[:2]) != nil {
		t.Error("one lock alone has nothing to be compared with")
	}
}
