package explore

import (
	"errors"
	"strings"
	"testing"

	"lockbench/internal/cli/console"
	"lockbench/internal/simulate/explore"
)

// TestReplayCodes checks that the exit code is 0 only if the property is violated everywhere the case ran: in the
// simulation, on real servers, or both.
func TestReplayCodes(t *testing.T) {
	shows, silent := &simulated{Shows: true}, &simulated{}
	for _, c := range []struct {
		simulation *simulated
		servers    *onServers
		want       int
	}{
		{shows, nil, 0}, {silent, nil, console.ExitFail}, {shows, &onServers{Shows: true}, 0}, {shows, &onServers{}, console.ExitInconclusive},
		{silent, &onServers{}, console.ExitFail}, {silent, &onServers{Shows: true}, console.ExitFail}, {shows, &onServers{Shows: true, disagree: true}, console.ExitInternal},
		{&simulated{Shows: true, disagree: true}, nil, console.ExitInternal}, {nil, &onServers{}, console.ExitInconclusive}, {nil, &onServers{Shows: true}, 0},
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

// TestServersSaid checks the text about trials on real servers. If no violation was observed, the text must not state
// that the property holds.
func TestServersSaid(t *testing.T) {
	for want, s := range map[string]onServers{
		"on redis 7: fencing violated in 2 of 4 trials\n  who held\n  history: h\n  1 discarded trial: slow\n": {Server: "redis 7", Shows: true, In: 2, Trials: 4, Discarded: 1, Why: "slow", Example: "who held", History: "h"},
		"on real servers: fencing not violated in 5 trials\n":                                                  {Trials: 5},
		"on real servers: fencing not violated in 0 trials\n  5 discarded trials: slow\n":                      {Discarded: 5, Why: "slow"},
	} {
		var said strings.Builder
		s.print(&said, "fencing")
		if said.String() != want {
			t.Errorf("got  %q\nwant %q", said.String(), want)
		}
	}
}

// TestReplayAnotherLock checks that a worker is not ignored because the case names a lock of lockbench.
func TestReplayAnotherLock(t *testing.T) {
	f := replayFlags{own: "mine"}
	err := f.place(nil, &explore.Case{Lock: "etcd"})
	if err == nil || !strings.Contains(err.Error(), "the case is for the lock etcd, and the lock of the worker is mine") {
		t.Errorf("got %v", err)
	}
}
