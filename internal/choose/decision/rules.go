package decision

import (
	"fmt"
	"slices"
	"strings"
)

// rule is a requirement, and how an option is held to it.
type rule struct {
	Requirement
	because func(Needs) string           // the need that asks for it; "": none does
	lock    func(*deciding, Option) Cell // of a lock
	instead func(*deciding, Option) Cell // of what takes the place of a lock
}

// rules are all requirements, in display order.
func rules() []rule {
	return []rule{
		{Requirement{Name: "applies", Title: "applies here"}, always("the team knows what its operation allows"), anywhere, applies},
		{Requirement{Name: "available", Title: "is there"}, stores, available, availableToo},
		{Requirement{Name: "language", Title: "for the languages"}, languages, spoken, spoken},
		{Requirement{Name: "reentrancy", Title: "re-entrant", Tried: true}, func(n Needs) string { return when(n.Reenters, "an owner asks again for what it holds") }, reenters, byItself},
		{Requirement{Name: "exclusion", Title: "excludes", Safety: true, Tried: true}, always("two at once are what it is to prevent"), excludes, byItself},
		{Requirement{Name: "release", Title: "frees its own only", Safety: true, Tried: true}, corrupting("a late release must not let a third in"), freesItsOwn, byItself},
		{Requirement{Name: "work", Title: "covers the work", Safety: true}, covering, covers, byItself},
		{Requirement{Name: "pause", Title: "survives pauses", Safety: true, Tried: true}, pausing, survivesPauses, byItself},
		{Requirement{Name: "network", Title: "survives the network", Safety: true, Tried: true}, corrupting("messages are late or lost now and then, and two at once must not come of it"), underFaults("slow-network", "lost-reply", "partition", "delayed-release", "cancelled-acquire"), byItself},
		{Requirement{Name: "crash", Title: "recovers", Tried: true}, recovering, recovers, byItself},
		trouble(Restart, "survives a restart", "its store is restarted", "server-restart"),
		trouble(Failover, "survives a failover", "its store fails over", "failover", "leader-loss"),
		trouble(Clock, "survives clock jumps", "the clock of its store jumps", "clock-forward", "clock-back"),
		trouble(Eviction, "survives eviction", "its store drops keys for want of memory", "eviction"),
		{Requirement{Name: "rate", Title: "fast enough", Tried: true}, func(n Needs) string {
			return when(n.Rate > 0, "the busiest lock is to be granted %s times a second", figure(n.Rate))
		}, fastEnough, byItself},
		{Requirement{Name: "patience", Title: "soon enough", Tried: true}, func(n Needs) string { return when(n.Wait > 0, "a client waits for %s at most", Lasting(n.Wait)) }, soonEnough, byItself},
		{Requirement{Name: "fairness", Title: "fair", Tried: true}, func(n Needs) string { return when(n.Fair, "nobody may be passed over for long") }, fairEnough, byItself},
		{Requirement{Name: "cost", Title: "within budget", Tried: true}, func(n Needs) string {
			return when(n.Commands > 0, "a grant may take the store %s commands", figure(n.Commands))
		}, cheapEnough, byItself},
	}
}

func always(why string) func(Needs) string { return func(Needs) string { return why } }

func when(yes bool, format string, args ...any) string {
	if !yes {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// corrupting asks only where two at once do harm.
func corrupting(why string) func(Needs) string {
	return func(n Needs) string {
		return when(n.TwoHold == Corruption, "two at once corrupt what is guarded: %s", why)
	}
}

func stores(n Needs) string {
	return fmt.Sprintf("there is %s, run by somebody; what is not there must be run first", strings.Join(n.Stores, ", "))
}

func languages(n Needs) string {
	return when(len(n.Language) > 0, "its users are written in %s", strings.Join(n.Language, ", "))
}

func covering(n Needs) string {
	return fmt.Sprintf("the work takes up to %s, and nobody else is to begin it meanwhile", Lasting(n.Hold.Max))
}

func pausing(n Needs) string {
	return when(n.TwoHold == Corruption, "two at once corrupt what is guarded, and a process was seen to stand still for %s", Lasting(n.Pauses.Longest))
}

func recovering(n Needs) string {
	if n.Recovery == 0 {
		return "a holder that dies must not keep the others out for ever"
	}
	return fmt.Sprintf("when a holder dies, the next is to be granted within %s", Lasting(n.Recovery))
}

// trouble is the requirement that comes with something that befalls a store.
func trouble(t Trouble, title, doc string, faults ...string) rule {
	return rule{Requirement{Name: "store-" + string(t), Title: title, Safety: true, Tried: true},
		func(n Needs) string {
			return when(n.TwoHold == Corruption && slices.Contains(n.Survives, t), "%s, and two at once must not come of it", doc)
		}, storeTrouble(t, faults), byItself}
}

// anywhere is where a lock can be used.
func anywhere(*deciding, Option) Cell {
	return Cell{Answer: Yes, Tag: Documented, Text: "a lock can stand before whatever its users agree to take it for"}
}

// applies asks what takes the place of a lock whether it can.
func applies(d *deciding, o Option) Cell {
	means := Means(o.Name)
	switch said := slices.Contains(d.needs.Instead, means); {
	case !said && d.needs.Unstated("instead"):
		return Cell{Answer: DontKnow, Tag: Unknown, Text: "nobody said whether " + onlyIf(means)}
	case !said:
		return Cell{Answer: No, Tag: Assumed, Text: "it is not so, the team says, that " + onlyIf(means)}
	case means == Idempotent && d.needs.TwoHold == Corruption:
		return Cell{Answer: No, Tag: Assumed, Text: "the operation can be repeated, but two at the same time corrupt what is guarded, the team says"}
	}
	return Cell{Answer: Yes, Tag: Assumed, Text: "the team says that " + onlyIf(means)}
}

// onlyIf is what must be so for something to take the place of a lock.
func onlyIf(m Means) string {
	switch m {
	case Idempotent:
		return "the operation can be done twice, and the second time changes nothing"
	case Compare:
		return "what is guarded can refuse the second of two by a unique constraint or a compare-and-set"
	}
	return "all that is guarded is changed in one transaction of one database"
}

// byItself is why what takes the place of a lock has no such trouble.
func byItself(_ *deciding, o Option) Cell {
	switch Means(o.Name) {
	case Idempotent:
		return Cell{Answer: Yes, Tag: Documented, Text: "nothing is held: two may run at once, and what is left is the same"}
	case Compare:
		return Cell{Answer: Yes, Tag: Documented, Text: "nothing is held: what is guarded takes one of two writes and refuses the other, whoever was late, paused or cut off"}
	}
	return Cell{Answer: Yes, Tag: Documented, Text: "the row is locked by the transaction that changes it, and what befalls one befalls the other: both or neither are committed"}
}

// available asks whether the store is there, as the option needs it.
func available(d *deciding, o Option) Cell {
	at := o.Store
	if o.Deployment != "single" && o.Deployment != "" {
		at += "@" + o.Deployment
	}
	for _, have := range d.needs.Stores {
		store, on, _ := strings.Cut(have, "@")
		if store == o.Store && (on == o.Deployment || o.Deployment == "single" && on != "cluster" || on == "" && o.Deployment == "three") {
			return Cell{Answer: Yes, Tag: Assumed, Text: fmt.Sprintf("it needs %s, and the team has %s", at, have)}
		}
	}
	return Cell{Answer: No, Tag: Assumed, Text: fmt.Sprintf("it needs %s, which the team does not have", at)}
}

func availableToo(d *deciding, o Option) Cell {
	if Means(o.Name) != Row {
		return Cell{Answer: Yes, Tag: Assumed, Text: "it needs nothing but what is guarded"}
	}
	for _, have := range d.needs.Stores {
		if store, _, _ := strings.Cut(have, "@"); store == "mysql" || store == "postgres" {
			return Cell{Answer: Yes, Tag: Assumed, Text: "it needs a database with transactions, and the team has " + have}
		}
	}
	return Cell{Answer: No, Tag: Assumed, Text: "it needs a database with transactions, which the team does not name among its stores"}
}

// spoken asks whether it is to be had in each language.
func spoken(d *deciding, o Option) Cell {
	if o.Kind == NoLock {
		return Cell{Answer: Yes, Tag: Documented, Text: "it takes no library"}
	}
	var as, not []string
	for _, l := range d.needs.Language {
		what := o.Languages[l]
		if what == "" {
			what = o.Languages["any"]
		}
		if what == "" {
			not = append(not, l)
			continue
		}
		if !slices.Contains(as, what) {
			as = append(as, what)
		}
	}
	if len(not) > 0 {
		return Cell{Answer: No, Tag: Documented, Text: fmt.Sprintf("there is none that lockbench knows of for %s", strings.Join(not, ", "))}
	}
	return Cell{Answer: Yes, Tag: Documented, Text: "to be had as " + strings.Join(as, "; ")}
}

// covers asks whether the lease lasts as long as the work, and ends soon enough all the same.
func covers(d *deciding, o Option) Cell {
	switch o.Lease {
	case NoLease:
		return Cell{Answer: Yes, Tag: Documented, Text: "it has no lease that could end under the work"}
	case Connection:
		return Cell{Answer: Yes, Tag: Documented, Text: "it is held for as long as its connection, and no lease ends under the work"}
	}
	ttl := d.ttl[o.Lease]
	if ttl == 0 {
		return Cell{Answer: No, Tag: Assumed, Text: noLease(d.needs, o.Lease)}
	}
	if o.Lease == Renewed {
		return Cell{Answer: Yes, Tag: Assumed, Text: fmt.Sprintf("a lease of %s is moved on by the holder's process while it works", Lasting(ttl))}
	}
	return Cell{Answer: Yes, Tag: Assumed, Text: fmt.Sprintf("a lease of %s covers work of %s at most", Lasting(ttl), Lasting(d.needs.Hold.Max))}
}
