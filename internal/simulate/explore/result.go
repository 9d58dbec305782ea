package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"lockbench/histories"
)

// ResultVersion is the version of the format of explored.json.
const ResultVersion = 2

// Result holds the result of a campaign. It depends on the seeds alone, not on the time that the campaign took.
type Result struct {
	Version int           `json:"lockbench_explored"`
	First   uint64        `json:"first_seed"`
	Locks   []*LockResult `json:"locks"`
}

// LockResult holds the results of a search for violations of one lock. They are summed over all seeds.
type LockResult struct {
	Subject
	Seeds      int                       `json:"seeds"`
	Operations int                       `json:"operations"`
	Virtual    time.Duration             `json:"virtual_ns"`
	ClientTime time.Duration             `json:"client_time_ns"` // virtual time of all clients and seeds together
	Digest     string                    `json:"digest"`         // hash of the history digests of all seeds, in seed order
	Properties []*PropertyResult         `json:"properties"`
	Strategies []*StrategyResult         `json:"strategies"`
	Met        map[string]map[string]int `json:"met"` // number of faults, by fault name and by the client's state; see States
	Failed     []Seed                    `json:"failed,omitempty"`
	Void       []Seed                    `json:"void,omitempty"` // discarded trials, which say nothing about the lock
	Minimised
}

// Fails reports whether a property was violated although it was expected to hold. On real servers (parameter real), a
// violation counts only if a counterexample showed it again.
func (l *LockResult) Fails(real bool) bool {
	if real {
		return slices.ContainsFunc(l.Counterexamples, func(c Counterexample) bool { return c.Fails })
	}
	return slices.ContainsFunc(l.Properties, func(p *PropertyResult) bool { return p.Fails > 0 })
}

// Shown reports whether the failures of a property count: in virtual time always, on real servers if a counterexample showed one
// again.
func (l *LockResult) Shown(property string) bool {
	return l.Servers == "" || slices.ContainsFunc(l.Counterexamples, func(c Counterexample) bool { return c.Fails && slices.Contains(c.Violated, property) })
}

// Inconclusive reports whether the result is inconclusive. This is the case if a trial has no verdict, if most trials
// were discarded, or if a failure did not show again. Nondeterministic trials do not matter.
func (l *LockResult) Inconclusive() bool {
	return len(l.Failed) > 0 || 2*len(l.Void) > l.Seeds ||
		slices.ContainsFunc(l.Unconfirmed, func(u Unconfirmed) bool { return u.Fails })
}

// PropertyResult counts how often a property was violated.
type PropertyResult struct {
	Property  string `json:"property"`
	Judged    int    `json:"judged"` // number of seeds with a verdict on the property
	Violated  int    `json:"violated"`
	First     uint64 `json:"first_seed"` // first seed with a violation; meaningless if Violated is 0
	Expected  int    `json:"expected"`   // number of judged seeds in which the property was expected to hold
	Fails     int    `json:"failed"`     // number of seeds in which the property was expected to hold but was violated
	FirstFail uint64 `json:"first_failed_seed"`
}

// StrategyResult counts the seeds for which a strategy chose the fault plan, and how many of them led to a violation.
type StrategyResult struct {
	Strategy  string `json:"strategy"`
	Seeds     int    `json:"seeds"`
	Violating int    `json:"violating"`
	After     int    `json:"after"` // number of seeds up to and including the first violation; 0: no violation
}

func sum(s Subject, seeds []Seed) *LockResult {
	l := &LockResult{Subject: s, Met: map[string]map[string]int{}}
	digest := sha256.New()
	for _, x := range seeds {
		digest.Write([]byte(x.Digest))
		l.Seeds++
		l.Operations += x.Operations
		l.Virtual += x.Virtual
		l.ClientTime += x.Virtual * time.Duration(x.Clients)
		if x.Failed != "" {
			l.Failed = append(l.Failed, x)
		}
		if x.Void != "" {
			l.Void = append(l.Void, x)
		}
		row(&l.Strategies, func(r *StrategyResult) *string { return &r.Strategy }, x.Strategy).add(x)
		for _, name := range x.Judged {
			row(&l.Properties, func(r *PropertyResult) *string { return &r.Property }, name).add(x)
		}
		for _, m := range x.Met {
			if l.Met[m.Fault] == nil {
				l.Met[m.Fault] = map[string]int{}
			}
			l.Met[m.Fault][m.State]++
		}
	}
	l.Digest = hex.EncodeToString(digest.Sum(nil)[:8])
	return l
}

// row returns the row with the wanted name. It adds the row if the table has none.
func row[R any](table *[]*R, name func(*R) *string, want string) *R {
	for _, r := range *table {
		if *name(r) == want {
			return r
		}
	}
	r := new(R)
	*name(r) = want
	*table = append(*table, r)
	return r
}

func (r *StrategyResult) add(x Seed) {
	r.Seeds++
	if len(x.Violated) > 0 {
		r.Violating++
		r.After = cmp.Or(r.After, r.Seeds)
	}
}

func (r *PropertyResult) add(x Seed) {
	expected, violated := slices.Contains(x.Expected, r.Property), slices.Contains(x.Violated, r.Property)
	count := func(n *int, first *uint64) {
		if *n++; *n == 1 {
			*first = x.Seed
		}
	}
	r.Judged++
	if violated {
		count(&r.Violated, &r.First)
	}
	if expected {
		r.Expected++
	}
	if expected && violated {
		count(&r.Fails, &r.FirstFail)
	}
}

// States returns the possible states of a client at the time when a fault takes effect.
func States() []string { return []string{"idle", "asking", "held", "releasing"} }

// Meeting holds a fault that took effect, and the state of the affected client. If a fault affects all clients, State is
// the first of these states that any client has: held, releasing, asking, idle.
type Meeting struct {
	Fault string `json:"fault"`
	State string `json:"state"`
}

func (r *Run) met() []Meeting {
	var all []Meeting
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Kind == histories.Inject && op.Outcome == histories.OK {
			all = append(all, Meeting{op.Fault, r.state(op)})
		}
	}
	return all
}

// state returns what the affected client was doing when a fault began: held (it held the lock), releasing, asking (it
// was in an acquire) or idle. If the fault affects all clients, state returns the first of these states that any client
// has.
func (r *Run) state(inject *histories.Op) string {
	found := map[string]bool{"idle": true}
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Call > inject.Call {
			break
		}
		if int(op.Client) >= r.Params.Clients || inject.Client != histories.Harness && op.Client != inject.Client {
			continue
		}
		open := op.Return == histories.StillOpen || op.Return >= inject.Call
		found["asking"] = found["asking"] || op.Kind == histories.Acquire && open
		found["held"] = found["held"] || op.Kind == histories.Acquire && !open && op.Outcome == histories.OK && !r.endedBefore(op, inject)
		found["releasing"] = found["releasing"] || op.Kind == histories.Release && open
	}
	order := []string{"held", "releasing", "asking", "idle"}
	return order[slices.IndexFunc(order, func(state string) bool { return found[state] })]
}

// endedBefore reports whether a hold had ended before a fault began. A hold that was being released counts as ended.
func (r *Run) endedBefore(acquire, inject *histories.Op) bool {
	return slices.ContainsFunc(r.Ops, func(op histories.Op) bool {
		ends := op.EndsClient() || op.Hold == acquire.Hold && (op.Kind == histories.Release || op.Kind == histories.Lost)
		return ends && op.Client == acquire.Client && acquire.Call <= op.Call && op.Call < inject.Call
	})
}
