package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
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
	Spent    time.Duration  // time that the campaign took before it was resumed
}

// Progress describes a search for violations that is still running.
type Progress struct {
	Seeds      int
	Virtual    time.Duration
	Violating  int    // number of seeds with a violation
	Minimising string // lock whose violations are being minimised; "": still searching
}

// Engine runs the cases of a campaign, several at a time.
type Engine interface {
	Cases
	Size() int // number of requests that can run at the same time, which may change
	// Turn waits until another request can run. The caller must call done after the request.
	Turn(ctx context.Context) (done func(), err error)
}

// searching returns the percentage of the time limit that is spent on the search for violations. The rest is spent on
// minimising them.
func (c Campaign) searching() time.Duration {
	if c.UntilFail {
		return 90 // only one violation is minimised
	}
	return 60
}

// Run searches for violations, then minimises them. If ctx ends, Run returns the result so far and the context's error.
func (c Campaign) Run(ctx context.Context, on Engine) (*Result, error) {
	start := time.Now().Add(-c.Spent)
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

	mu     sync.Mutex
	seen   Progress
	failed bool // a violation of a property that was expected to hold showed again; set only if UntilFail is set
}

// done reports whether the search has found what it was to stop at.
func (r *running) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// searchBatch searches the seeds of one batch. If UntilFail is set, it confirms failures at once, so that the search ends
// early.
func (r *running) searchBatch(ctx context.Context, s Subject, from, count uint64) ([]Seed, error) {
	found, err := r.on.Search(ctx, s, from, count)
	r.update(func(p *Progress) { p.add(found) })
	for i := range found {
		if err != nil || !r.UntilFail || len(found[i].Fails()) == 0 || r.done() {
			continue
		}
		found[i].Confirmed, err = r.on.Confirm(ctx, s, found[i])
		r.update(func(*Progress) { r.failed = r.failed || found[i].Confirmed })
	}
	return found, err
}

// search runs batches of seeds in rounds, one batch per lock in each round. It ends when the seeds or the time are used
// up.
func (r *running) search(ctx context.Context, start time.Time) error {
	parts := make([][]*[]Seed, len(r.Subjects))
	work, ctx := errgroup.WithContext(ctx)
	for from := r.First; ctx.Err() == nil; from += r.batch() {
		count := r.batchFrom(from, start)
		if count == 0 {
			break
		}
		for i, s := range r.Subjects {
			done, err := r.on.Turn(ctx)
			if err != nil {
				work.Go(func() error { return err })
				break
			}
			found := new([]Seed)
			parts[i] = append(parts[i], found)
			work.Go(func() (err error) {
				defer done()
				*found, err = r.searchBatch(ctx, s, from, count)
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

// Numbers of seeds in one request: in virtual time few, so that all locks make progress, and on real servers one, because it
// takes seconds.
const (
	virtualBatch = 16
	realBatch    = 1
	maxBatch     = 1024 // most seeds that an agent accepts
)

func (c Campaign) batch() uint64 {
	if len(c.Subjects) > 0 && c.Subjects[0].Servers != "" {
		return realBatch
	}
	return virtualBatch
}

// batchFrom returns the number of seeds in the batch that begins with the seed from. It returns 0 if the search must
// end.
func (r *running) batchFrom(from uint64, start time.Time) uint64 {
	switch done := from - r.First; {
	case r.done():
		return 0
	case r.Seeds > 0:
		return min(r.batch(), r.Seeds-min(done, r.Seeds))
	case done == 0 || time.Since(start) < r.For*r.searching()/100:
		return r.batch()
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

// Smallest time limits for minimising the violations of one lock, in virtual time and on real servers. They apply even
// if the search has used up its time.
const (
	leastMinimising     = 2 * time.Second
	leastRealMinimising = 20 * time.Second
)

// minimise minimises the violations of all locks, several locks at a time.
func (r *running) minimise(ctx context.Context, start time.Time, result *Result) error {
	var work errgroup.Group
	for i, s := range r.Subjects {
		violating := slices.DeleteFunc(slices.Clone(r.seeds[i]), func(x Seed) bool {
			return len(x.Violated) == 0 || r.UntilFail && len(x.Fails()) == 0
		})
		if len(violating) == 0 {
			continue
		}
		slices.SortStableFunc(violating, func(a, b Seed) int {
			return cmp.Or(rankConfirmed(a)-rankConfirmed(b), len(b.Fails())-len(a.Fails()))
		})
		turn, err := r.on.Turn(ctx)
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		work.Go(func() error {
			defer turn()
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

// rankConfirmed orders confirmed seeds before others.
func rankConfirmed(x Seed) int {
	if x.Confirmed {
		return 0
	}
	return 1
}
