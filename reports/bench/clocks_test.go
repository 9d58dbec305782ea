package bench

import (
	"strings"
	"testing"
)

// TestClocks checks the self-check about the clocks of agents, which exists only if several agents ran the clients.
func TestClocks(t *testing.T) {
	t.Parallel()
	at := func(uncertainty int64, names ...string) *Trial {
		return &Trial{Subject: "fenced", Agents: &Agents{Names: names, UncertaintyNS: uncertainty, Grants: 100, Hidden: 7}}
	}
	for name, x := range map[string]struct {
		agents int
		trials []*Trial
		ok     bool
		seen   string
	}{
		"several agents": {2, []*Trial{at(1e6, "a", "b"), at(3e6, "a", "b"), at(2e6, "a", "b"), {}}, true,
			"uncertain by 2 ms in the median and 3 ms at most, in 3 trials; 21 of 300 holds of locks were shorter"},
		"one clock in all trials": {2, []*Trial{at(0, "a")}, false, "inconclusive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ResultsOf(&Plan{Agents: x.agents, Subjects: []Subject{{Name: "fenced", Role: Lock}}}, x.trials)
			c := r.Checks[len(r.Checks)-1]
			if c.Name != "clocks" || c.OK != x.ok || !strings.HasPrefix(c.Seen, x.seen) {
				t.Errorf("%+v", c)
			}
		})
	}
	for _, c := range ResultsOf(&Plan{Agents: 1}, nil).Checks {
		if c.Name == "clocks" {
			t.Error("a bench with one clock has the self-check")
		}
	}
}
