package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/histories"
)

// Campaign describes a search: which locks, from which seed on, and for how long.
type Campaign struct {
	Subjects        []Subject
	First           uint64        // seed
	Seeds           uint64        // of each subject; 0: as many as there is time for
	For             time.Duration // where Seeds is 0: of the whole, minimiser included
	Counterexamples int           // of each subject, at most

	Progress func(Progress) // called now and then, by one goroutine at a time; may be nil
}

// Progress says how far a campaign is.
type Progress struct {
	Seeds      int
	Virtual    time.Duration
	Violating  int    // seeds
	Minimising string // the subject that is being minimised; "": still searching
}

// Result holds what a campaign found. It depends on the seeds alone, not on the time that it took.
type Result struct {
	First uint64        `json:"first_seed"`
	Locks []*LockResult `json:"locks"`
}

// LockResult holds what was found of one subject.
type LockResult struct {
	Subject
	Seeds      int                       `json:"seeds"`
	Operations int                       `json:"operations"`
	Virtual    time.Duration             `json:"virtual_ns"`
	ClientTime time.Duration             `json:"client_time_ns"` // virtual time, once for each client
	Digest     string                    `json:"digest"`         // of all digests, in order
	Properties []*PropertyResult         `json:"properties"`
	Strategies []*StrategyResult         `json:"strategies"`
	Met        map[string]map[string]int `json:"met"` // by fault, then by what it met
	Failed     []Seed                    `json:"failed,omitempty"`
	Minimised
}

// PropertyResult counts how often a property was violated.
type PropertyResult struct {
	Property  string `json:"property"`
	Judged    int    `json:"judged"` // seeds with a verdict
	Violated  int    `json:"violated"`
	First     uint64 `json:"first_seed"` // in which it was violated, where it was
	Expected  int    `json:"expected"`   // to hold under such a plan, of those judged
	Fails     int    `json:"failed"`     // of those expected to hold
	FirstFail uint64 `json:"first_failed_seed"`
}

// StrategyResult counts what a strategy found.
type StrategyResult struct {
	Strategy  string `json:"strategy"`
	Seeds     int    `json:"seeds"`
	Violating int    `json:"violating"`
	After     int    `json:"after"` // of its own seeds until it found its first; 0: none
}

// batch is how many seeds a process tries at once: few enough for the locks to take turns.
const batch = 16

// searching is the part of a campaign's time that goes into the search; the rest is for minimising what it found.
const searching = 60 // percent

// Run searches, then minimises what it found. If ctx ends, what was found so far is returned with the context's error.
func (c Campaign) Run(ctx context.Context, pool *Pool) (*Result, error) {
	start := time.Now()
	r := &running{Campaign: c, pool: pool, seeds: make([][]Seed, len(c.Subjects))}
	err := r.search(ctx, start)
	result := &Result{First: c.First}
	for i, s := range c.Subjects {
		result.Locks = append(result.Locks, sum(s, r.seeds[i]))
	}
	if err != nil {
		return result, err
	}
	return result, r.minimise(ctx, start, result)
}

type running struct {
	Campaign
	pool  *Pool
	seeds [][]Seed // by subject, in order

	mu   sync.Mutex
	seen Progress
}

// search tries batches of seeds, of each subject in turn.
func (r *running) search(ctx context.Context, start time.Time) error {
	parts := make([][]*[]Seed, len(r.Subjects))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(r.pool.size)
	for from := r.First; ctx.Err() == nil; from += batch {
		count := r.batchFrom(from, start)
		if count == 0 {
			break
		}
		for i, s := range r.Subjects {
			found := new([]Seed)
			parts[i] = append(parts[i], found)
			work.Go(func() (err error) {
				*found, err = r.pool.Search(ctx, s, from, count)
				r.update(func(p *Progress) { p.add(*found) })
				return err
			})
		}
	}
	err := work.Wait()
	for i := range parts {
		for _, found := range parts[i] {
			r.seeds[i] = append(r.seeds[i], *found...)
		}
	}
	return err
}

// batchFrom returns how many seeds to try from one on; 0 ends the search.
func (r *running) batchFrom(from uint64, start time.Time) uint64 {
	switch done := from - r.First; {
	case r.Seeds > 0:
		return min(batch, r.Seeds-min(done, r.Seeds))
	case done == 0 || time.Since(start) < r.For*searching/100:
		return batch
	}
	return 0
}

func (p *Progress) add(seeds []Seed) {
	for _, s := range seeds {
		p.Seeds++
		p.Virtual += s.Virtual
		p.Violating += min(1, len(s.Violated))
	}
}

func (r *running) update(change func(*Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.seen)
	if r.Progress != nil {
		r.Progress(r.seen)
	}
}

// leastMinimising is how long each subject may take even if the time is up.
const leastMinimising = 2 * time.Second

// minimise minimises what was found, each subject in one process.
func (r *running) minimise(ctx context.Context, start time.Time, result *Result) error {
	var work errgroup.Group
	work.SetLimit(r.pool.size)
	for i, s := range r.Subjects {
		violating := slices.DeleteFunc(slices.Clone(r.seeds[i]), func(x Seed) bool { return len(x.Violated) == 0 })
		if len(violating) == 0 {
			continue
		}
		slices.SortStableFunc(violating, func(a, b Seed) int { return len(b.Fails()) - len(a.Fails()) })
		work.Go(func() error {
			r.update(func(p *Progress) { p.Minimising = s.Lock })
			within := r.within(start, len(r.Subjects)-i)
			done, err := r.pool.Minimise(ctx, s, violating, r.Counterexamples, within)
			r.mu.Lock()
			defer r.mu.Unlock()
			result.Locks[i].Minimised = done
			if errors.As(err, new(died)) && ctx.Err() == nil { // the other subjects are minimised all the same
				result.Locks[i].Failed = append(result.Locks[i].Failed, Seed{Seed: violating[0].Seed, Failed: err.Error()})
				return nil
			}
			return err
		})
	}
	return work.Wait()
}

// within returns how long one subject may take when so many are left.
func (r *running) within(start time.Time, left int) time.Duration {
	if r.Seeds > 0 {
		return mostMinimised * mostTime // the number of trials bounds it before
	}
	share := (r.For - time.Since(start)) * time.Duration(r.pool.size) / time.Duration(left)
	return max(share, leastMinimising)
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

// row returns the row of a table that has a name, a new one if there is none.
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
	claimed, violated := slices.Contains(x.Expected, r.Property), slices.Contains(x.Violated, r.Property)
	count := func(n *int, first *uint64) {
		if *n++; *n == 1 {
			*first = x.Seed
		}
	}
	r.Judged++
	if violated {
		count(&r.Violated, &r.First)
	}
	if claimed {
		r.Expected++
	}
	if claimed && violated {
		count(&r.Fails, &r.FirstFail)
	}
}

// States returns what a fault can meet: its victim at that moment or, for a fault that has no client as its victim, the
// client that is furthest, in the order of a hold.
func States() []string { return []string{"idle", "asking", "held", "releasing"} }

// Meeting is a fault that took effect, and what it met.
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

// state returns what clients do as a fault begins: hold before release before ask.
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
		found["held"] = found["held"] || op.Kind == histories.Acquire && !open && op.Outcome == histories.OK && !r.overBy(op, inject)
		found["releasing"] = found["releasing"] || op.Kind == histories.Release && open
	}
	order := []string{"held", "releasing", "asking", "idle"}
	return order[slices.IndexFunc(order, func(state string) bool { return found[state] })]
}

// overBy reports whether a hold had ended, or was being released, when a fault began.
func (r *Run) overBy(acquire, inject *histories.Op) bool {
	return slices.ContainsFunc(r.Ops, func(op histories.Op) bool {
		ends := op.EndsClient() || op.Hold == acquire.Hold && (op.Kind == histories.Release || op.Kind == histories.Lost)
		return ends && op.Client == acquire.Client && acquire.Call <= op.Call && op.Call < inject.Call
	})
}
