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

// Campaign describes a search for violations: the locks, the seeds and the time.
type Campaign struct {
	Subjects        []Subject
	First           uint64        // the first seed
	Seeds           uint64        // number of seeds per lock; 0: as many as the time limit For allows
	For             time.Duration // time limit of searching and minimising together; ignored if Seeds is not 0
	Counterexamples int           // maximum number of counterexamples per lock
	UntilFail       bool          // whether to stop at the first violation of a property that was expected to hold

	Progress func(Progress) // called by one goroutine at a time; may be nil
}

// Progress describes a search for violations that is still running.
type Progress struct {
	Seeds      int
	Virtual    time.Duration
	Violating  int    // number of seeds with a violation
	Minimising string // lock whose violations are being minimised; "": still searching
}

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

// Engine runs the cases of a campaign. A Pool runs them in virtual time, and Real runs them on real processes and
// servers.
type Engine interface {
	Size() int     // number of requests that can run at the same time
	Batch() uint64 // number of seeds in one call of Search
	Search(ctx context.Context, s Subject, from, count uint64) ([]Seed, error)
	Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error)
}

// The constant searching is the percentage of the time limit that is spent on the search for violations. The rest is
// spent on minimising them.
const searching = 60

// Run searches for violations, then minimises them. If ctx ends, Run returns the result so far and the context's error.
func (c Campaign) Run(ctx context.Context, on Engine) (*Result, error) {
	start := time.Now()
	r := &running{Campaign: c, on: on, seeds: make([][]Seed, len(c.Subjects))}
	err := r.search(ctx, start)
	result := &Result{Version: ResultVersion, First: c.First}
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
	on    Engine
	seeds [][]Seed // results of each lock, in seed order

	mu    sync.Mutex
	seen  Progress
	fails int // number of seeds that violated a property that was expected to hold
}

// failsToStop returns the number of failing seeds after which a search ends if UntilFail is set. On real servers a
// violation may not show again. There the search finds several.
func (r *running) failsToStop() int {
	if r.Subjects[0].Servers != "" {
		return 3
	}
	return 1
}

// done reports whether the search has found enough violations to stop.
func (r *running) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.UntilFail && r.fails >= r.failsToStop()
}

// search runs batches of seeds in rounds, one batch per lock in each round. It ends when the seeds or the time are used
// up.
func (r *running) search(ctx context.Context, start time.Time) error {
	parts := make([][]*[]Seed, len(r.Subjects))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(r.on.Size())
	for from := r.First; ctx.Err() == nil; from += r.on.Batch() {
		count := r.batchFrom(from, start)
		if count == 0 {
			break
		}
		for i, s := range r.Subjects {
			found := new([]Seed)
			parts[i] = append(parts[i], found)
			work.Go(func() (err error) {
				*found, err = r.on.Search(ctx, s, from, count)
				r.update(func(p *Progress) {
					p.add(*found)
					r.fails += failing(*found)
				})
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

// batchFrom returns the number of seeds in the batch that begins with the seed from. It returns 0 if the search must
// end.
func (r *running) batchFrom(from uint64, start time.Time) uint64 {
	switch done := from - r.First; {
	case r.done():
		return 0
	case r.Seeds > 0:
		return min(r.on.Batch(), r.Seeds-min(done, r.Seeds))
	case done == 0 || time.Since(start) < r.For*searching/100:
		return r.on.Batch()
	}
	return 0
}

func failing(seeds []Seed) (n int) {
	for _, s := range seeds {
		n += min(1, len(s.Fails()))
	}
	return n
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

// Smallest time limits for minimising the violations of one lock, in virtual time and on real servers. They apply even
// if the search has used up its time.
const (
	leastMinimising     = 2 * time.Second
	leastRealMinimising = 20 * time.Second
)

// minimise minimises the violations of all locks, several locks at a time.
func (r *running) minimise(ctx context.Context, start time.Time, result *Result) error {
	var work errgroup.Group
	work.SetLimit(r.on.Size())
	for i, s := range r.Subjects {
		violating := slices.DeleteFunc(slices.Clone(r.seeds[i]), func(x Seed) bool {
			return len(x.Violated) == 0 || r.UntilFail && len(x.Fails()) == 0
		})
		if len(violating) == 0 {
			continue
		}
		slices.SortStableFunc(violating, func(a, b Seed) int { return len(b.Fails()) - len(a.Fails()) })
		work.Go(func() error {
			r.update(func(p *Progress) { p.Minimising = s.Lock })
			done, err := r.on.Minimise(ctx, s, violating, r.Counterexamples, r.timeLimit(start, len(r.Subjects)-i))
			r.mu.Lock()
			defer r.mu.Unlock()
			result.Locks[i].Minimised = done
			if errors.As(err, new(died)) && ctx.Err() == nil { // a child process has died; continue with the other locks
				result.Locks[i].Failed = append(result.Locks[i].Failed, Seed{Seed: violating[0].Seed, Failed: err.Error()})
				return nil
			}
			return err
		})
	}
	return work.Wait()
}

// timeLimit returns the time limit for minimising the violations of one lock. If the number of seeds is fixed, the limit
// is constant. In virtual time, the remaining time of all child processes is divided among the remaining locks
// (parameter left). On real servers, each lock gets all the remaining time.
func (r *running) timeLimit(start time.Time, left int) time.Duration {
	if r.Seeds > 0 {
		return mostMinimised * mostTime // enough for the maximum number of violations, each with the maximum time
	}
	rest := r.For - time.Since(start)
	if r.UntilFail {
		rest = min(rest, mostRealTime)
	}
	if r.Subjects[0].Servers != "" { // all locks share the servers and are minimised at the same time
		return max(rest, leastRealMinimising)
	}
	return max(rest*time.Duration(r.on.Size())/time.Duration(left), leastMinimising)
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
