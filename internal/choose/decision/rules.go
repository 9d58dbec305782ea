package decision

import (
	"slices"
	"strings"
	"time"

	"lockbench/reports/selection"
)

// rule is a requirement, and how an option is held to it.
type rule struct {
	name, title string
	need        string // the key of the need that asks for it; "": it is asked of every lock
	safety      bool   // without it two clients hold at once, or harm is done
	tried       bool   // trials answer it
	asked       func(selection.Needs) bool
	lock        answer // of a lock
	instead     answer // of what replaces a lock
}

type answer func(*deciding, selection.Option) selection.Cell

func (r rule) requirement() selection.Requirement {
	return selection.Requirement{Name: r.name, Title: r.title, Need: r.need, Safety: r.safety, Tried: r.tried}
}

// rules are all requirements, in display order.
func rules() []rule {
	always := func(selection.Needs) bool { return true }
	corrupting := func(n selection.Needs) bool { return n.TwoHold == selection.Corruption }
	rows := []rule{
		{"applies", "applies here", "instead", false, false, always, said(selection.AnyOperation), applies},
		{"available", "store is there", "stores", false, false, always, available, availableInstead},
		{"language", "for the languages", "languages", false, false, func(n selection.Needs) bool { return len(n.Language) > 0 }, inLanguages, said(selection.NoLibrary)},
		{"reentrancy", "re-entrant", "reenters", false, true, func(n selection.Needs) bool { return n.Reenters }, reenters, nothingHeld},
		{"exclusion", "excludes", "", true, true, always, excludes("none"), nothingHeld},
		{"release", "frees its own only", "if_two_hold", true, true, corrupting, freesItsOwn, nothingHeld},
		{"work", "covers the work", "hold", true, false, always, covers, nothingHeld},
		{"pause", "survives pauses", "pauses", true, true, corrupting, survivesPauses, nothingHeld},
		{"network", "survives the network", "if_two_hold", true, true, corrupting, excludes(NetworkFaults()...), nothingHeld},
		{"crash", "recovers", "recovery_within", false, true, always, recovers, nothingHeld},
	}
	for _, t := range troubles() {
		asked := func(n selection.Needs) bool { return corrupting(n) && slices.Contains(n.Survives, t.trouble) }
		rows = append(rows, rule{"store-" + string(t.trouble), t.title, "survives_store", true, true, asked, survivesStore(t.trouble == selection.Failover, t.faults), nothingHeld})
	}
	for _, c := range criteria() {
		if c.limit.requirement != "" {
			asked := func(n selection.Needs) bool { return c.asked(n) > 0 }
			check := func(d *deciding, o selection.Option) selection.Cell { return d.limited(o, c) }
			rows = append(rows, rule{c.limit.requirement, c.limit.title, c.limit.need, false, true, asked, check, nothingHeld})
		}
	}
	return rows
}

// trouble is what may happen to a store, and the faults that are such.
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

// StoreFaults returns the faults that are some trouble of a store.
func StoreFaults(t selection.Trouble) (faults []string) {
	for _, of := range troubles() {
		if of.trouble == t {
			faults = of.faults
		}
	}
	return faults
}

// NetworkFaults returns the faults that a lock must survive if two holders do harm.
func NetworkFaults() []string {
	return []string{"slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// limited compares a figure with its bound. If the interval contains the bound, nobody can tell.
func (d *deciding) limited(o selection.Option, c criterion) selection.Cell {
	v := d.value(o, c)
	cell := v.cell(o, "")
	cell.Answer = selection.DontKnow
	if v.unknown != "" {
		return cell
	}
	at := c.asked(d.needs)
	cell.Limit = &at
	low, high := v.median, v.median
	if v.low != nil {
		low, high = *v.low, *v.high
	}
	if c.Better > 0 { // compare what is missing
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

// said answers yes for a reason that no trial is needed for.
func said(why selection.Reason) answer {
	return func(*deciding, selection.Option) selection.Cell {
		return selection.Cell{Answer: selection.Yes, Tag: selection.Documented, Reason: why}
	}
}

var nothingHeld = said(selection.NothingHeld)

// assumed answers by what the team says.
func assumed(yes bool, if_, otherwise selection.Reason) selection.Cell {
	if yes {
		return selection.Cell{Answer: selection.Yes, Tag: selection.Assumed, Reason: if_}
	}
	return selection.Cell{Answer: selection.No, Tag: selection.Assumed, Reason: otherwise}
}

// applies asks whether something can replace a lock.
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

// available asks whether the store is there, as the option needs it.
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

// inLanguages asks whether the lock is available in each language.
func inLanguages(d *deciding, o selection.Option) selection.Cell {
	var as, not []string
	for _, l := range d.needs.Language {
		what := o.Languages[l]
		if what == "" {
			what = o.Languages["any"]
		}
		switch {
		case what == "":
			not = append(not, l)
		case !slices.Contains(as, what):
			as = append(as, what)
		}
	}
	if len(not) > 0 {
		return selection.Cell{Answer: selection.No, Tag: selection.Documented, Reason: selection.NoClient, Detail: strings.Join(not, ", ")}
	}
	return selection.Cell{Answer: selection.Yes, Tag: selection.Documented, Reason: selection.AvailableAs, Detail: strings.Join(as, "; ")}
}

// covers asks whether the lease lasts as long as the work, and still ends soon enough.
func covers(d *deciding, o selection.Option) selection.Cell {
	switch o.Lease {
	case selection.NoLease:
		return said(selection.NoLeaseEnds)(d, o)
	case selection.Connection:
		return said(selection.HeldByConnection)(d, o)
	case selection.Renewed:
		return assumed(d.ttl[o.Lease] > 0, selection.LeaseRenewed, selection.NoLeaseFits)
	}
	return assumed(d.ttl[o.Lease] > 0, selection.LeaseCovers, selection.NoLeaseFits)
}
