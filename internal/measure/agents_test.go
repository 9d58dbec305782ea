package measure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/measure/suites"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
)

// TestSpread checks which plans agents can run, and what is left out of them.
func TestSpread(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change  func(*suites.Section)
		problem string
	}{
		"contend":    {change: func(*suites.Section) {}},
		"counter":    {change: func(s *suites.Section) { s.Workload = "counter" }, problem: "share a resource in memory"},
		"a fault":    {change: func(s *suites.Section) { s.Fault = "server-pause" }, problem: "server-pause needs all clients on one machine"},
		"a long one": {change: func(s *suites.Section) { s.Wait = time.Hour }, problem: "longer than 30m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			section := suites.Section{Name: "asked", Locks: []suites.Lock{{Name: "set-px-lua"}}, Baselines: []string{"none", "bare", "local-mutex"},
				Clients: []int{4}, Keys: []suites.Keys{4}, Duration: 50 * time.Millisecond}
			x.change(&section)
			p, err := NewPlan(suites.Suite{Name: "small", Trials: 8, Sections: []suites.Section{section}}.Filled(), servers.Embedded, servers.Remote{})
			if err != nil {
				t.Fatal(err)
			}
			err = p.Spread(2)
			if x.problem != "" {
				if err == nil || !strings.Contains(err.Error(), x.problem) {
					t.Errorf("error: %v", err)
				}
				return
			}
			if err != nil || p.Agents != 2 {
				t.Fatal(err, p.Agents)
			}
			checkSpread(t, p)
		})
	}
}

func checkSpread(t *testing.T, p *Plan) {
	t.Helper()
	all := names(p, p.Pairs)
	for _, want := range []string{"none at asked-4c-4k-0ms", "none among others at controls-crowd", "ping redis at round-trip", "stalled generator at controls-generator"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not measured", want)
		}
	}
	for _, name := range all {
		if strings.HasPrefix(name, "bare") || strings.HasPrefix(name, "local-mutex") {
			t.Errorf("%s is measured", name)
		}
	}
	crowd := p.Points[slices.IndexFunc(p.Points, func(point bench.Point) bool { return point.ID == "controls-crowd" })]
	if crowd.HoldNS < int64(20*time.Millisecond) {
		t.Errorf("the known-broken lock is held for %s", time.Duration(crowd.HoldNS))
	}
}
