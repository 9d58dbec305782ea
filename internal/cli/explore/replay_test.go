package explore

import (
	"errors"
	"strings"
	"testing"

	"lockbench/internal/cli/console"
)

// TestReplayCodes checks that the exit code is 0 only if the property is violated in the simulation. If servers are requested,
// the property must also be violated on servers.
func TestReplayCodes(t *testing.T) {
	shows, silent := simulated{Shows: true}, simulated{}
	for _, c := range []struct {
		simulation simulated
		servers    *onServers
		want       int
	}{
		{shows, nil, 0}, {silent, nil, console.ExitFail}, {shows, &onServers{Shows: true}, 0}, {shows, &onServers{}, console.ExitInconclusive},
		{silent, &onServers{}, console.ExitFail}, {silent, &onServers{Shows: true}, console.ExitFail}, {shows, &onServers{Shows: true, disagree: true}, console.ExitInternal},
		{simulated{Shows: true, disagree: true}, nil, console.ExitInternal},
	} {
		got := 0
		var e *console.Exit
		if err := (replayed{Simulation: c.simulation, Servers: c.servers}).codes().Err(); errors.As(err, &e) {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%+v, %+v: exit code %d, want %d", c.simulation, c.servers, got, c.want)
		}
	}
}

// TestServersSaid checks the output if no violation was observed. The output must not state that the property holds.
func TestServersSaid(t *testing.T) {
	for want, s := range map[string]onServers{
		"on redis 7: fencing violated in trial 2 of 5\n  who held\n  history: h\n":                                      {Server: "redis 7", Shows: true, Trials: 2, Of: 5, Example: "who held", History: "h"},
		"on redis 7: fencing not violated in 5 trials\n  in 3 of them not all of the plan took place\n  histories: d\n": {Server: "redis 7", Trials: 5, Of: 5, Missed: 3, Folder: "d"},
		"on real servers: fencing not violated in 0 trials, then stopped: void\n":                                       {Of: 5, GaveUp: "void"},
	} {
		var said strings.Builder
		s.print(&said, "fencing")
		if said.String() != want {
			t.Errorf("got  %q\nwant %q", said.String(), want)
		}
	}
}
