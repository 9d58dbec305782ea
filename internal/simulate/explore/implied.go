package explore

import (
	"slices"

	"lockbench/internal/drive/faults"
	"lockbench/internal/simulate/sim"
)

// weather lists the actions that affect clients and the network. They change neither the data nor the clock of a server.
var weather = []faults.Verb{faults.Stall, faults.Pause, faults.Kill, faults.Exit, faults.Abandon, faults.GiveUp, faults.Interrupt, faults.Cut, faults.Delay,
	faults.Slow, faults.Lose, faults.Reset, faults.Mute, faults.ForgetScripts, faults.ReadOnly, faults.Full}

// tolerated maps properties to the actions that cannot make a correct lock violate them, if the lock keeps the property
// without faults. A lock counts its lease from the request and compares its token, so only the server can break its promise.
var tolerated = map[string][]faults.Verb{
	"lease-exclusion": weather,
	"owner-release":   weather,
	"reentrancy":      weather,
	"fencing":         weather,
	"renewal":         weather,
	"no-orphan":       slices.Concat(weather, []faults.Verb{faults.Empty, faults.Evict, faults.Restart}),
	"truthful-answer": slices.Concat(weather, []faults.Verb{faults.Empty, faults.Evict, faults.Restart, faults.Freeze, faults.Down, faults.Unlink, faults.Failover, faults.Jump, faults.Drift}),
	"progress":        {faults.Stall, faults.Kill, faults.Exit, faults.Empty, faults.Evict},
}

// lengthens reports whether a step sets a server's clock back. All leases on the server then last longer.
func lengthens(s faults.Step) bool { return s.Do.Verb == faults.Jump && s.Do.By < 0 }

// endsHolder reports whether a step ends the session of the holder.
func endsHolder(s faults.Step) bool { return s.Do.Verb == faults.Unseat && !s.Do.Waiter }

// endsSessions reports whether the plan closes all connections of a process, for a lock whose sessions end with them.
func endsSessions(t sim.Trial) bool {
	return t.Lock.Session && !t.Lock.Renews && hasVerb(t.Plan, faults.Reset)
}

// implied reports whether a correct lock keeps the property under all steps of the plan, if it keeps the property without
// faults. The locks of the catalog state expectations only for the faults of "run", and the search draws more. For a lock of
// a user, a third-party lock or a known-broken lock, nothing is implied.
func implied(t sim.Trial, property string) bool {
	if t.Lock.Control || t.Lock.Program != nil || t.Lock.ThirdParty {
		return false
	}
	return !slices.ContainsFunc(t.Plan.Steps, func(s faults.Step) bool {
		exclusion := slices.Contains([]string{"lease-exclusion", "mutual-exclusion", "resource-integrity", "fencing"}, property)
		if s.Do.Verb == faults.Unseat && s.Do.Waiter { // a waiter without a session holds nothing
			return len(tolerated[property]) == 0 || property == "progress"
		}
		return !slices.Contains(tolerated[property], s.Do.Verb) && !(exclusion && lengthens(s))
	})
}
