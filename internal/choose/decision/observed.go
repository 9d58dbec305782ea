package decision

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/checker"
	"lockbench/reports/selection"
)

// asked describes the trials that a requirement needs as evidence: the faults, the workload, and the properties to check.
type asked struct {
	property string   // property that must hold in the trials
	with     []string // other properties that must not be violated
	faults   []string // faults under which the lock must have been tested
	either   bool     // whether trials with one of the faults are enough, because some stores do not support all of them
	workload string   // name of the workload; "": any workload for which Special returns false
	accept   func(selection.Finding) bool
}

// exclusion returns the evidence needed to show that two clients never hold the lock at once under the given faults. The evidence
// covers the exclusion properties and the integrity of the guarded data.
func exclusion(faults ...string) asked {
	return asked{property: "mutual-exclusion", with: []string{"lease-exclusion", "resource-integrity"}, faults: faults}
}

func observes(a asked) answer {
	return func(d *deciding, o selection.Option) selection.Cell { return d.observed(o, a) }
}

func reenters(d *deciding, o selection.Option) selection.Cell {
	if !o.Reentrant {
		return selection.Cell{Answer: selection.No, Tag: selection.Documented, Reason: selection.NotReentrant}
	}
	return d.observed(o, asked{property: "reentrancy", with: []string{"mutual-exclusion"}, faults: []string{"none"}, workload: "reentrant"})
}

// refused checks whether the guarded resource refuses outdated fencing tokens and so protects its data.
func (d *deciding) refused(o selection.Option, either bool, faults ...string) (c selection.Cell, ok bool) {
	if !o.Fences || d.needs.Fence == selection.NoCheck {
		return c, false
	}
	a := asked{property: "resource-integrity", faults: faults, either: either}
	if d.needs.Fence == selection.OnWrites {
		a.workload = "write-fenced"
	}
	c = d.observed(o, a)
	return c, c.Answer == selection.Yes
}

// survivesPauses checks that a paused holder does no damage. Either the resource checks fencing tokens, or the lock excludes
// other clients during the pause.
func survivesPauses(d *deciding, o selection.Option) selection.Cell {
	if c, ok := d.refused(o, false, "process-pause"); ok {
		return c
	}
	switch c := d.observed(o, exclusion("process-pause")); {
	case c.Answer == selection.Yes, o.Lease == selection.NoLease, o.Lease == selection.Connection:
		return c
	}
	ttl := d.ttl[o.Lease]
	if ttl == 0 {
		return assumed(false, "", selection.NoLeaseFits)
	}
	a := exclusion(LongestPause)
	a.accept = func(f selection.Finding) bool { return d.longEnough(f, ttl) }
	c := d.observed(o, a)
	if c.Tag == selection.Unknown && c.Reason == selection.NotTried {
		c.Reason = selection.PauseNotTried
	}
	return c
}

// longEnough reports whether the pause in the trials of a finding was long enough for the requirements. The ratio of
// pause to lease in the trials must be at least the longest pause in the requirements divided by ttl.
func (d *deciding) longEnough(f selection.Finding, ttl time.Duration) bool {
	text, _ := strings.CutPrefix(f.Scenario, pauseScenario)
	pause, err := time.ParseDuration(text)
	return err == nil && pause > 0 && f.TTLNS > 0 && float64(pause)/float64(f.TTLNS) >= 0.999*float64(d.needs.Pauses.Longest)/float64(ttl)
}

// LongestPause is the name of the fault that pauses a holder for the longest pause of the requirements. No lock states an
// expectation for it.
const LongestPause = "longest-pause"

// Name prefixes of the trial scenarios that lockbench derives from a team's requirements.
const (
	pauseScenario = "longest-pause-"
	leaseScenario = "lease-"
)

// PauseScenario returns the name of the scenario in which a holder is paused for a certain time. The lease in this
// scenario is longer than the pause.
func PauseScenario(pause time.Duration) string { return pauseScenario + pause.String() }

// LeaseScenario returns the name of the scenario that tests a lease of length ttl.
func LeaseScenario(ttl time.Duration) string { return leaseScenario + ttl.String() }

func ofLeaseCurve(f selection.Finding) bool { return strings.HasPrefix(f.Scenario, leaseScenario) }

// survivesStore checks that exclusion holds under faults of the store, or that the guarded resource refuses outdated tokens.
func survivesStore(either bool, faults []string) answer {
	return func(d *deciding, o selection.Option) selection.Cell {
		if c, ok := d.refused(o, either, faults...); ok {
			return c
		}
		a := exclusion(faults...)
		a.either = either
		return d.observed(o, a)
	}
}

// recovers checks whether the lock of a dead holder is granted again within the required time.
func recovers(d *deciding, o selection.Option) selection.Cell {
	c := d.observed(o, asked{property: "recovery", with: []string{"no-orphan"}, faults: []string{"holder-kill"}})
	if c.Answer != selection.Yes || d.needs.Recovery == 0 {
		return c
	}
	f, ok := d.recovery(o)
	if !ok {
		return selection.Cell{Answer: selection.DontKnow, Tag: selection.Unknown, Reason: selection.NotMeasured}
	}
	longest := d.recoveryTime(o, slices.Max(f.Estimate.Values), f)
	value, within := round(milliseconds(longest), 4), milliseconds(d.needs.Recovery)
	c.Value, c.Limit, c.Reason = &value, &within, selection.WithinLimit
	c.Evidence = append(c.Evidence, f.ID)
	if longest > d.needs.Recovery {
		c.Answer, c.Reason, c.Evidence = selection.No, selection.BeyondLimit, []string{f.ID}
	}
	return c
}

// recovery returns the measured recovery time of a lock, as a multiple of the lease.
func (d *deciding) recovery(o selection.Option) (selection.Figure, bool) {
	return lo.Find(d.Figures, func(f selection.Figure) bool {
		return f.Lock == o.Lock() && f.Deployment == o.Deployment && f.Metric == selection.RecoveryMetric && len(f.Estimate.Values) > 0
	})
}

// recoveryTime converts a recovery time from a multiple of the lease to a duration at the advised lease. If the lock has no
// advised lease, it uses the lease of the measurement.
func (d *deciding) recoveryTime(o selection.Option, multiple float64, f selection.Figure) time.Duration {
	return time.Duration(multiple * float64(cmp.Or(d.ttl[o.Lease], time.Duration(f.Point.TTLNS))))
}

// Special reports whether a workload tests a single property and is not a typical use of a lock.
func Special(workload string) bool {
	return slices.Contains([]string{"misuse", "long-hold", "reentrant", "write-fenced", "flash-sale", "flash-sale-gated", "alone", "varied"}, workload)
}

// usual reports whether the scenario of a finding is a standard one. All other scenarios are derived from the requirements of
// one team.
func usual(f selection.Finding) bool {
	return !strings.HasPrefix(f.Scenario, pauseScenario) && !ofLeaseCurve(f)
}

func violated(f selection.Finding) bool { return f.Observed == checker.Violated }
func settled(f selection.Finding) bool {
	return f.Observed == checker.Held || f.Observed == checker.Violated
}

// observed checks a requirement against findings. It answers no if a property is violated. It answers unknown if a property is
// undecided or a required trial is missing. Otherwise it answers yes.
func (d *deciding) observed(o selection.Option, a asked) selection.Cell {
	var held []string
	var missing *selection.Cell
	found := 0
	for _, fault := range a.faults {
		seen := d.findings(o, fault, a)
		if slices.ContainsFunc(seen, violated) {
			return selection.Cell{Answer: selection.No, Tag: selection.Measured, Reason: selection.Violated, Evidence: ids(seen, violated)}
		}
		why := unsettled(seen, a.property)
		if why == nil {
			found++
			held = append(held, ids(seen, settled)...)
		} else if missing == nil {
			why.Detail, missing = fault, why
		}
	}
	if found == len(a.faults) || a.either && found > 0 {
		return selection.Cell{Answer: selection.Yes, Tag: selection.Measured, Reason: selection.Held, Evidence: held}
	}
	missing.Evidence = append(missing.Evidence, held...)
	return d.expected(o, a, *missing)
}

func (d *deciding) findings(o selection.Option, fault string, a asked) (all []selection.Finding) {
	lock := o.Lock()
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Lock != lock || f.Fault != fault || f.Observed == checker.NotApplicable || f.Property != a.property && !slices.Contains(a.with, f.Property) {
			continue
		}
		load := a.workload == f.Workload || a.workload == "" && !Special(f.Workload)
		accepted := a.accept == nil && usual(*f) || a.accept != nil && a.accept(*f)
		if load && accepted && appliesTo(*f, o) {
			all = append(all, *f)
		}
	}
	return all
}

// appliesTo reports whether a finding applies to the deployment of a candidate. Usually the finding must come from the same
// deployment. For server faults such as failover, the deployments may differ unless one of them is a cluster.
func appliesTo(f selection.Finding, o selection.Option) bool {
	switch f.Fault {
	case "failover", "failover-synced", "leader-loss", "eviction", "server-restart":
		return o.Deployment != "cluster" && f.Deployment != "cluster" || f.Deployment == o.Deployment
	}
	return f.Deployment == o.Deployment
}

// unsettled returns the reason why findings do not decide a requirement, or nil if they do. An undecided property is ignored
// if it holds in another finding with the same workload and scenario.
func unsettled(seen []selection.Finding, property string) *selection.Cell {
	held := lo.Filter(seen, func(f selection.Finding, _ int) bool { return f.Observed == checker.Held })
	undecided, found := lo.Find(seen, func(f selection.Finding) bool {
		return f.Observed == checker.Undecided && !lo.ContainsBy(held, func(h selection.Finding) bool {
			return h.Property == f.Property && h.Workload == f.Workload && h.Scenario == f.Scenario
		})
	})
	switch {
	case found:
		return &selection.Cell{Answer: selection.DontKnow, Tag: selection.Unknown, Reason: selection.Undecided, Evidence: []string{undecided.ID}}
	case lo.ContainsBy(held, func(f selection.Finding) bool { return f.Property == property }):
		return nil
	}
	return &selection.Cell{Answer: selection.DontKnow, Tag: selection.Unknown, Reason: selection.NotTried}
}

// expected returns the answer "no" if the lock's author expects a violation, and the parameter otherwise in all other
// cases. An expectation never counts in favour of a lock.
func (d *deciding) expected(o selection.Option, a asked, otherwise selection.Cell) selection.Cell {
	c, found := lo.Find(o.Expectations, func(c selection.Expectation) bool {
		of := c.Property == a.property || slices.Contains(a.with, c.Property)
		return of && slices.Contains(a.faults, c.Fault) && c.Workload == a.workload && cmp.Or(c.Deployment, o.Deployment) == o.Deployment && a.accept == nil
	})
	if !found {
		return otherwise
	}
	return selection.Cell{Answer: selection.No, Tag: selection.Documented, Reason: selection.ExpectedViolation, Expectation: &c, Evidence: otherwise.Evidence}
}

// ids returns the ids of the findings for which accept returns true, without duplicates.
func ids(list []selection.Finding, accept func(selection.Finding) bool) []string {
	return lo.Uniq(lo.FilterMap(list, func(f selection.Finding, _ int) (string, bool) { return f.ID, accept(f) }))
}
