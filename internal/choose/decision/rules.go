package decision

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"lockbench/reports/selection"
)

// rule is a requirement and the functions that check whether a candidate meets it.
type rule struct {
	selection.Requirement
	asked   func(selection.Needs) bool // reports whether the team has this requirement; nil: always
	lock    answer                     // function that checks whether a lock meets the requirement
	instead answer                     // function that checks whether an alternative to a lock meets the requirement
}

type answer func(*deciding, selection.Option) selection.Cell

func rules() (rows []rule) {
	add := func(name, title, need string, safety, tried bool, asked func(selection.Needs) bool, lock, instead answer) {
		rows = append(rows, rule{selection.Requirement{Name: name, Title: title, Need: need, Safety: safety, Tried: tried}, asked, lock, instead})
	}
	corrupting := func(n selection.Needs) bool { return n.TwoHold == selection.Corruption }
	add("applies", "applies", "instead", false, false, nil, documented(selection.AnyOperation), applies)
	add("available", "store available", "stores", false, false, nil, available, availableInstead)
	add("language", "client library", "languages", false, false, func(n selection.Needs) bool { return len(n.Language) > 0 },
		inLanguages, documented(selection.NoLibrary))
	add("reentrancy", "re-entrant", "reenters", false, true, func(n selection.Needs) bool { return n.Reenters }, reenters, nothingHeld)
	add("exclusion", "mutual exclusion", "", true, true, nil, observes(exclusion("none")), nothingHeld)
	add("release", "releases only its own", "if_two_hold", true, true, corrupting,
		observes(asked{property: "owner-release", faults: []string{"none"}, workload: "misuse"}), nothingHeld)
	add("work", "lease covers work", "hold", true, false, nil, leaseFits, nothingHeld)
	add("pause", "survives pauses", "pauses", true, true, corrupting, survivesPauses, nothingHeld)
	add("network", "survives network faults", "if_two_hold", true, true, corrupting, observes(exclusion(NetworkFaults()...)), nothingHeld)
	add("crash", "recovers", "recovery_within", false, true, nil, recovers, nothingHeld)
	for _, t := range troubles() {
		asked := func(n selection.Needs) bool { return corrupting(n) && slices.Contains(n.Survives, t.trouble) }
		add("store-"+string(t.trouble), t.title, "survives_store", true, true, asked,
			survivesStore(t.trouble == selection.Failover, t.faults), nothingHeld)
	}
	for _, c := range criteria() {
		if c.limit.requirement != "" {
			asked := func(n selection.Needs) bool { return c.asked(n) > 0 }
			add(c.limit.requirement, c.limit.title, c.limit.need, false, true, asked, c.checkLimit, nothingHeld)
		}
	}
	return rows
}

// trouble is an event that a store may suffer, with the faults that simulate it.
type trouble struct {
	trouble selection.Trouble
	title   string
	faults  []string
}

func troubles() []trouble {
	return []trouble{
		{selection.Restart, "survives a restart", []string{"server-restart"}},
		{selection.Failover, "survives a failover", []string{"failover", "leader-loss"}},
		{selection.Clock, "survives clock jumps", []string{"clock-forward", "clock-back"}},
		{selection.Eviction, "survives eviction", []string{"eviction"}},
	}
}

// StoreFaults returns the names of the faults that simulate an event in a store, such as a restart.
func StoreFaults(t selection.Trouble) []string {
	return lo.FlatMap(troubles(), func(of trouble, _ int) []string { return lo.Ternary(of.trouble == t, of.faults, nil) })
}

// NetworkFaults returns the names of network faults. If two holders at once would corrupt data, a lock must prevent this under
// these faults too.
func NetworkFaults() []string {
	return []string{"slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// checkLimit checks whether a measured value meets its limit. The answer is unknown if the limit lies in the confidence interval
// of the value.
func (c criterion) checkLimit(d *deciding, o selection.Option) selection.Cell {
	v := d.value(o, c)
	cell := v.cell(o, "")
	cell.Answer = selection.DontKnow
	if v.unknown != "" {
		return cell
	}
	at := c.asked(d.needs)
	cell.Limit = lo.ToPtr(at)
	low, high := v.median, v.median
	if v.low != nil {
		low, high = *v.low, *v.high
	}
	if c.Better > 0 { // higher values are better: negate the values and the limit, so that the limit is an upper bound
		low, high, at = -high, -low, -at
	}
	switch {
	case high <= at:
		cell.Answer, cell.Reason = selection.Yes, selection.WithinLimit
	case low > at:
		cell.Answer, cell.Reason = selection.No, selection.BeyondLimit
	default:
		cell.Tag, cell.Reason = selection.Unknown, selection.TooNoisy
	}
	return cell
}

func documented(why selection.Reason) answer {
	return func(*deciding, selection.Option) selection.Cell {
		return selection.Cell{Answer: selection.Yes, Tag: selection.Documented, Reason: why}
	}
}

var nothingHeld = documented(selection.NothingHeld)

func assumed(yes bool, if_, otherwise selection.Reason) selection.Cell {
	return selection.Cell{Answer: lo.Ternary(yes, selection.Yes, selection.No), Tag: selection.Assumed, Reason: lo.Ternary(yes, if_, otherwise)}
}

// applies checks whether the requirements allow an alternative to a lock, such as idempotent operations.
func applies(d *deciding, o selection.Option) selection.Cell {
	means := selection.Means(o.Name)
	stated := slices.Contains(d.needs.Instead, means)
	switch {
	case !stated && d.needs.Unstated("instead"):
		return selection.Cell{Answer: selection.DontKnow, Tag: selection.Unknown, Reason: selection.NotStated}
	case stated && means == selection.Idempotent && d.needs.TwoHold == selection.Corruption:
		return assumed(false, "", selection.TwoCorrupt)
	}
	return assumed(stated, selection.Applies, selection.DoesNotApply)
}

// available checks whether the team already runs the candidate's store in a suitable deployment.
func available(d *deciding, o selection.Option) selection.Cell {
	return assumed(slices.ContainsFunc(d.needs.Stores, func(have string) bool {
		store, on, _ := strings.Cut(have, "@")
		return store == o.Store && (on == o.Deployment || o.Deployment == "single" && on != "cluster" || on == "" && o.Deployment == "three")
	}), selection.StorePresent, selection.StoreMissing)
}

func availableInstead(d *deciding, o selection.Option) selection.Cell {
	if selection.Means(o.Name) != selection.Row {
		return assumed(true, selection.NoStore, "")
	}
	return assumed(slices.ContainsFunc(d.needs.Stores, func(have string) bool {
		store, _, _ := strings.Cut(have, "@")
		return store == "mysql" || store == "postgres"
	}), selection.DatabasePresent, selection.DatabaseMissing)
}

func inLanguages(d *deciding, o selection.Option) selection.Cell {
	in := func(l string) string { return cmp.Or(o.Languages[l], o.Languages["any"]) }
	if not := lo.Filter(d.needs.Language, func(l string, _ int) bool { return in(l) == "" }); len(not) > 0 {
		return selection.Cell{Answer: selection.No, Tag: selection.Documented, Reason: selection.NoClient, Detail: strings.Join(not, ", ")}
	}
	as := lo.Uniq(lo.Map(d.needs.Language, func(l string, _ int) string { return in(l) }))
	return selection.Cell{Answer: selection.Yes, Tag: selection.Documented, Reason: selection.AvailableAs, Detail: strings.Join(as, "; ")}
}

// leaseFits checks whether a suitable lease exists. The lease must prevent overlapping holds, and expire in time after
// the death of its holder.
func leaseFits(d *deciding, o selection.Option) selection.Cell {
	switch o.Lease {
	case selection.NoLease:
		return documented(selection.NoLeaseEnds)(d, o)
	case selection.Connection:
		return documented(selection.HeldByConnection)(d, o)
	}
	return assumed(d.ttl[o.Lease] > 0, lo.Ternary(o.Lease == selection.Renewed, selection.LeaseRenewed, selection.LeaseCovers), selection.NoLeaseFits)
}
