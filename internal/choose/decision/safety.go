package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
)

// views are the properties of exclusion that go with the lived one: what was promised, and what became of the data.
func views() []string { return []string{"lease-exclusion", "resource-integrity"} }

func excludes(d *deciding, o Option) Cell {
	return d.shown(o, asked{property: "mutual-exclusion", with: views(), faults: []string{"none"}})
}

func freesItsOwn(d *deciding, o Option) Cell {
	return d.shown(o, asked{property: "owner-release", faults: []string{"none"}, workload: "misuse"})
}

func reenters(d *deciding, o Option) Cell {
	if !o.Reentrant {
		return Cell{Answer: No, Tag: Documented, Text: "it does not grant again to the owner that holds"}
	}
	return d.shown(o, asked{property: "reentrancy", with: []string{"mutual-exclusion"}, faults: []string{"none"}, workload: "reentrant"})
}

func underFaults(faults ...string) func(*deciding, Option) Cell {
	return func(d *deciding, o Option) Cell {
		return d.shown(o, asked{property: "mutual-exclusion", with: views(), faults: faults})
	}
}

// fenced tells whether what is guarded refuses who comes late, so that it does no harm that two hold.
func (d *deciding) fenced(o Option) bool { return o.Fences && d.needs.Fence != NoCheck }

// fencing asks for what becomes of the data, where it checks tokens as this team's does. What checks on writes alone is
// looked at in a workload of its own.
func (d *deciding) fencing(faults ...string) asked {
	a := asked{property: "resource-integrity", faults: faults, either: len(faults) > 1,
		how: func(Finding) string { return ", with fencing tokens checked" }}
	if d.needs.Fence == OnWrites {
		a.workload = "write-fenced"
		a.how = func(Finding) string { return ", with fencing tokens checked on writes" }
	}
	return a
}

// survivesPauses: whoever stands still must do no harm when it goes on. Tokens that are checked see to that for any pause; a
// lock that nothing takes away sees to it as well; and a lease sees to it for pauses that it outlasts.
func survivesPauses(d *deciding, o Option) Cell {
	if d.fenced(o) {
		if c := d.shown(o, d.fencing("process-pause")); c.Answer == Yes {
			return c
		}
	}
	switch any := d.shown(o, asked{property: "mutual-exclusion", with: views(), faults: []string{"process-pause"}}); {
	case any.Answer == Yes, o.Lease == NoLease, o.Lease == Connection:
		return any
	}
	ttl := d.ttl[o.Lease]
	if ttl == 0 {
		return Cell{Answer: No, Tag: Assumed, Text: noLease(d.needs, o.Lease)}
	}
	within := func(f Finding) bool { return d.outlasted(f, ttl) }
	c := d.shown(o, asked{property: "mutual-exclusion", with: views(), faults: []string{LongestPause}, accept: within,
		how: func(f Finding) string {
			return fmt.Sprintf(", with a pause of %s that the lease outlasts", Lasting(pauseOf(f)))
		}})
	if c.Tag == Unknown {
		c.Text = fmt.Sprintf("not known: a pause of %s in a hold with a lease of %s was not tried", Lasting(d.needs.Pauses.Longest), Lasting(ttl))
	}
	return c
}

// outlasted tells whether a finding is of a pause as long, measured by its lease, as the longest that the team has seen.
func (d *deciding) outlasted(f Finding, ttl time.Duration) bool {
	pause := pauseOf(f)
	return pause > 0 && f.TTLNS > 0 && float64(pause)/float64(f.TTLNS) >= 0.999*float64(d.needs.Pauses.Longest)/float64(ttl)
}

// pauseOf is the pause that a scenario was made for; 0: it was made for something else.
func pauseOf(f Finding) time.Duration {
	text, ok := strings.CutPrefix(f.Scenario, pauseScenario)
	if !ok {
		return 0
	}
	pause, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return pause
}

// LongestPause is the fault of that scenario: nothing is claimed of any lock under it.
const LongestPause = "longest-pause"

// PauseScenario is the name of the scenario in which processes stand still for so long, in a hold with a lease that outlasts it.
func PauseScenario(pause time.Duration) string { return pauseScenario + pause.String() }

// storeTrouble is what befalls a store. It is enough that no harm is done, where late tokens are refused.
func storeTrouble(t Trouble, faults []string) func(*deciding, Option) Cell {
	return func(d *deciding, o Option) Cell {
		a := asked{property: "mutual-exclusion", with: views(), faults: faults, either: t == Failover}
		if d.fenced(o) {
			f := d.fencing(faults...)
			f.either = a.either
			if c := d.shown(o, f); c.Answer == Yes {
				return c
			}
		}
		return d.shown(o, a)
	}
}

// recovers: a holder that dies must not keep the others out, and not for longer than is asked for.
func recovers(d *deciding, o Option) Cell {
	c := d.shown(o, asked{property: "recovery", with: []string{"no-orphan"}, faults: []string{"holder-kill"}})
	if c.Answer != Yes || d.needs.Recovery == 0 {
		return c
	}
	f, ok := d.recovery(o)
	if !ok {
		return Cell{Answer: DontKnow, Tag: Unknown, Text: "not known: how long it took was not measured"}
	}
	c.Evidence = append(c.Evidence, f.ID)
	longest := d.recoveryTime(o, slices.Max(f.Estimate.Values), f)
	how := ""
	if ttl := d.ttl[o.Lease]; ttl > 0 {
		how = fmt.Sprintf(" at the advised lease of %s", Lasting(ttl))
	}
	if longest > d.needs.Recovery {
		return Cell{Answer: No, Tag: Measured, Evidence: []string{f.ID}, Text: fmt.Sprintf("after the death of a holder the next was granted after %s%s; %s is asked for", Lasting(longest), how, Lasting(d.needs.Recovery))}
	}
	c.Text = fmt.Sprintf("after the death of a holder the next was granted after %s at most%s; %s", Lasting(longest), how, c.Text)
	return c
}

// recovery is the measured figure of a lock, in leases.
func (d *deciding) recovery(o Option) (Figure, bool) {
	lock := lockOf(o.Name)
	for _, f := range d.Figures {
		if f.Lock == lock && f.Deployment == o.Deployment && f.Metric == RecoveryMetric && len(f.Estimate.Values) > 0 {
			return f, true
		}
	}
	return Figure{}, false
}

// recoveryTime is a measured recovery at the lease that is advised: where a lease ends a hold, it takes as many leases; where
// the end of a connection does, the lease that was asked for is of no account.
func (d *deciding) recoveryTime(o Option, multiple float64, f Figure) time.Duration {
	lease := time.Duration(f.Point.TTLNS)
	if ttl := d.ttl[o.Lease]; ttl > 0 {
		lease = ttl
	}
	return time.Duration(multiple * float64(lease))
}

// harmless are findings of an option that are violations and that no requirement asks about: they speak against it all the
// same.
func (d *deciding) harmless(o Option, cells []Cell) []Finding {
	lock := lockOf(o.Name)
	used := map[string]bool{}
	for _, c := range cells {
		for _, id := range c.Evidence {
			used[id] = true
		}
	}
	var list []Finding
	for _, f := range d.Findings {
		if f.Lock == lock && at(f, o) && f.Observed == checker.Violated && !used[f.ID] && !strings.HasPrefix(f.Scenario, leaseScenario) {
			list = append(list, f)
		}
	}
	return list
}
