package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"

	"lockbench/reports/format"
)

// asked is what must have been seen of a lock: in cells of a fault, no violation of a property, nor of those that go with it.
type asked struct {
	property string   // of which there must be evidence
	with     []string // properties of which there may be none, since they do not apply everywhere
	faults   []string // each of them
	either   bool     // one of them is enough: they are the same to different stores
	workload string   // "": every one but those that take a lock beyond what every use expects
	accept   func(Finding) bool
	how      func(Finding) string // what to add to a condition
}

// Special tells whether a workload shows what it is made for and nothing else: it takes a lock beyond what every use expects.
func Special(workload string) bool {
	return slices.Contains([]string{"misuse", "long-hold", "reentrant", "write-fenced", "flash-sale", "flash-sale-gated", "alone"}, workload)
}

// usual is a cell of no scenario that was made for one length of things.
func usual(f Finding) bool {
	return !strings.HasPrefix(f.Scenario, pauseScenario) && !strings.HasPrefix(f.Scenario, leaseScenario)
}

// The names of scenarios whose times were chosen for one team's needs begin with these.
const (
	pauseScenario = "longest-pause-"
	leaseScenario = "lease-"
)

// shown answers by what was seen. A violation anywhere is a no, whatever was seen elsewhere; what is undecided, or was not
// looked at, is not known.
func (d *deciding) shown(o Option, a asked) Cell {
	var yes []Finding
	var missing doubt
	settled := 0
	for _, fault := range a.faults {
		seen := d.findings(o, fault, a)
		if slices.ContainsFunc(seen, func(f Finding) bool { return f.Observed == checker.Violated }) {
			return violated(seen, fault)
		}
		why := unsettled(seen, a.property)
		if why.text == "" {
			settled++
			yes = append(yes, seen...)
		} else if missing.text == "" {
			missing, missing.fault = why, fault
		}
	}
	if settled < len(a.faults) && (!a.either || settled == 0) {
		missing.of = append(missing.of, ids(yes)...)
		return d.notSeen(o, a, missing)
	}
	yes = slices.DeleteFunc(yes, func(f Finding) bool { return f.Observed != checker.Held })
	return Cell{Answer: Yes, Tag: Measured, Text: "no violation observed in " + conditions(yes, a), Evidence: ids(yes)}
}

// findings are those of an option that answer to what is asked.
func (d *deciding) findings(o Option, fault string, a asked) []Finding {
	lock := lockOf(o.Name)
	accept := a.accept
	if accept == nil {
		accept = usual
	}
	var seen []Finding
	for _, f := range d.Evidence.Findings {
		load := a.workload == f.Workload || a.workload == "" && !Special(f.Workload)
		prop := f.Property == a.property || slices.Contains(a.with, f.Property)
		if f.Lock == lock && f.Fault == fault && load && prop && at(f, o) && accept(f) && f.Observed != checker.NotApplicable {
			seen = append(seen, f)
		}
	}
	return seen
}

// at tells whether a finding is of the option where it is to stand. Some faults take a deployment of their own.
func at(f Finding, o Option) bool {
	switch f.Fault {
	case "failover", "failover-synced", "leader-loss", "eviction", "server-restart":
		return o.Deployment != "cluster" && f.Deployment != "cluster" || f.Deployment == o.Deployment
	}
	return f.Deployment == o.Deployment
}

// doubt is why something is not known, and what is behind it.
type doubt struct {
	text  string
	fault string
	of    []string // ids
}

// unsettled says why what was seen is no yes; none: it is. What one run left undecided another may have settled.
func unsettled(seen []Finding, property string) doubt {
	held := map[string]bool{}
	key := func(f Finding) string { return f.Property + " " + f.Workload + " " + f.Scenario }
	found := false
	for _, f := range seen {
		if f.Observed == checker.Held {
			held[key(f)] = true
			found = found || f.Property == property
		}
	}
	for _, f := range seen {
		if f.Observed == checker.Undecided && !held[key(f)] {
			return doubt{text: fmt.Sprintf("%s in %s is undecided: %s", f.Property, f.Workload, f.Why), of: []string{f.ID}}
		}
	}
	if !found {
		return doubt{text: "it was not looked at"}
	}
	return doubt{}
}

// violated is a no with what was seen.
func violated(seen []Finding, fault string) Cell {
	bad := slices.DeleteFunc(slices.Clone(seen), func(f Finding) bool { return f.Observed != checker.Violated })
	f := bad[0]
	text := fmt.Sprintf("%s was violated in %s of %s%s, at a lease of %s", f.Property, inTrials(f.ViolatedIn, f.Trials), f.Workload, underWhat(fault), Lasting(time.Duration(f.TTLNS)))
	if f.Witness != "" {
		text += ": " + f.Witness
	}
	return Cell{Answer: No, Tag: Measured, Text: text, Evidence: ids(bad)}
}

func inTrials(n, of int) string {
	if of == 1 {
		return "the one trial"
	}
	return fmt.Sprintf("%d of %d trials", n, of)
}

func underWhat(fault string) string {
	if fault == "none" {
		return " without a fault"
	}
	return " under " + fault
}

// notSeen falls back on what the lock's own table says, which can speak against it and never for it.
func (d *deciding) notSeen(o Option, a asked, why doubt) Cell {
	for _, c := range o.Claims {
		claimed := c.Property == a.property || slices.Contains(a.with, c.Property)
		if claimed && slices.Contains(a.faults, c.Fault) && c.Workload == a.workload && (c.Deployment == "" || c.Deployment == o.Deployment) && a.accept == nil && c.Verdict == "breaks" {
			return Cell{Answer: No, Tag: Documented, Text: fmt.Sprintf("%s is known to break%s: %s", c.Property, underWhat(c.Fault), c.Because), Evidence: why.of}
		}
	}
	if why.fault == "none" {
		why.fault = "no fault"
	}
	return Cell{Answer: DontKnow, Tag: Unknown, Text: fmt.Sprintf("not known: under %s %s", why.fault, why.text), Evidence: why.of}
}

// conditions are those under which findings were made: how many operations and trials, of what, with which lease.
func conditions(list []Finding, a asked) string {
	cells := map[string]Finding{}
	for _, f := range list { // properties of one cell are of the same trials
		cells[f.Source+" "+f.Dir] = f
	}
	operations, trials := 0, 0
	for _, f := range cells {
		operations += f.Operations
		trials += f.Trials
	}
	text := fmt.Sprintf("%s of %s of %s", plural(operations, "operation"), plural(trials, "trial"), format.Joined(each(list, func(f Finding) string { return f.Workload })))
	if faults := each(list, func(f Finding) string { return f.Fault }); len(faults) == 1 && faults[0] == "none" {
		text += " without a fault"
	} else {
		text += " under " + format.Joined(faults)
	}
	text += ", at a lease of " + format.Joined(each(list, func(f Finding) string { return Lasting(time.Duration(f.TTLNS)) }))
	if a.how != nil {
		text += a.how(list[0])
	}
	return fmt.Sprintf("%s (%s)", text, format.Joined(each(list, func(f Finding) string { return f.Property })))
}

// each is what is different in a list, in its order.
func each(list []Finding, of func(Finding) string) []string {
	var all []string
	for _, f := range list {
		if v := of(f); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func ids(list []Finding) []string {
	return each(list, func(f Finding) string { return f.ID })
}
