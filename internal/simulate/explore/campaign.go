package explore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"
)

// Campaign is a search: which locks, from which seed on, and for how long.
type Campaign struct {
	Subjects []Subject
	First    uint64        // seed
	Seeds    uint64        // of each subject; 0: as many as there is time for
	For      time.Duration // where Seeds is 0: of the whole, telling included
	Stories  int           // of each subject, at most

	Progress func(Progress) // called now and then, by one goroutine at a time; nil: nobody looks
}

// Progress is how far a campaign is.
type Progress struct {
	Seeds     int
	Virtual   time.Duration
	Violating int    // seeds
	Telling   string // the subject that is told of; "": still searching
}

// Result is what a campaign found. It depends on the seeds alone: there is no time of this machine in it.
type Result struct {
	First uint64        `json:"first_seed"`
	Locks []*LockResult `json:"locks"`
}

// LockResult is what was found of one subject.
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
	Told
}

// PropertyResult is how often a property was violated.
type PropertyResult struct {
	Property    string `json:"property"`
	Judged      int    `json:"judged"` // seeds in which it came to a verdict
	Violated    int    `json:"violated"`
	First       uint64 `json:"first_seed"` // in which it was violated, where it was
	Claimed     int    `json:"claimed"`    // of those judged: the lock claims that it holds under such a plan
	Broken      int    `json:"broken"`     // of those claimed
	FirstBroken uint64 `json:"first_broken_seed"`
}

// StrategyResult is what a strategy found.
type StrategyResult struct {
	Strategy  string `json:"strategy"`
	Seeds     int    `json:"seeds"`
	Violating int    `json:"violating"`
	After     int    `json:"after"` // so many seeds of its own it found its first; 0: none
}

// batch is how many seeds a process tries at once: few enough for the locks to take turns.
const batch = 16

// searching is the part of a campaign's time that goes into the search; the rest is for making small what it found.
const searching = 60 // percent

// Run searches, then tells. What was found when ctx ends is returned, with the context's error.
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
	return result, r.tell(ctx, start, result)
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
	type part struct {
		subject int
		from    uint64
		seeds   []Seed
	}
	var parts []*part
	var work sync.WaitGroup
	var failed error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	todo := make(chan *part)
	for range r.pool.Size() {
		work.Go(func() {
			for p := range todo {
				seeds, err := r.pool.Search(ctx, r.Subjects[p.subject], p.from, r.count(p.from))
				p.seeds = seeds
				r.saw(seeds)
				if err != nil {
					r.mu.Lock()
					failed = errors.Join(failed, err)
					r.mu.Unlock()
					stop()
				}
			}
		})
	}
	for from := r.First; r.goesOn(from, start) && ctx.Err() == nil; from += batch {
		for i := range r.Subjects {
			p := &part{subject: i, from: from}
			select {
			case todo <- p:
				parts = append(parts, p)
			case <-ctx.Done():
			}
		}
	}
	close(todo)
	work.Wait()
	for _, p := range parts {
		r.seeds[p.subject] = append(r.seeds[p.subject], p.seeds...)
	}
	return failed
}

// goesOn tells whether the batch from a seed on is to be tried.
func (r *running) goesOn(from uint64, start time.Time) bool {
	if r.Seeds > 0 {
		return from < r.First+r.Seeds
	}
	return from == r.First || time.Since(start) < r.For*searching/100
}

// count is how many seeds the batch has.
func (r *running) count(from uint64) uint64 {
	if r.Seeds > 0 {
		return min(batch, r.First+r.Seeds-from)
	}
	return batch
}

func (r *running) saw(seeds []Seed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range seeds {
		r.seen.Seeds++
		r.seen.Virtual += s.Virtual
		if len(s.Violated) > 0 {
			r.seen.Violating++
		}
	}
	r.show()
}

func (r *running) show() {
	if r.Progress != nil {
		r.Progress(r.seen)
	}
}

// leastTelling is for each subject, also where the time is up.
const leastTelling = 2 * time.Second

// tell has what was found made small, each subject in one process.
func (r *running) tell(ctx context.Context, start time.Time, result *Result) error {
	var work sync.WaitGroup
	var failed error
	limit := make(chan struct{}, r.pool.Size())
	left := len(r.Subjects)
	for i, s := range r.Subjects {
		violating := slices.DeleteFunc(slices.Clone(r.seeds[i]), func(x Seed) bool { return len(x.Violated) == 0 })
		if len(violating) == 0 {
			left--
			continue
		}
		slices.SortStableFunc(violating, func(a, b Seed) int { return len(b.Broken()) - len(a.Broken()) }) // broken claims first
		limit <- struct{}{}
		r.mu.Lock()
		r.seen.Telling = s.Lock
		r.show()
		r.mu.Unlock()
		within := r.within(start, left)
		left--
		work.Go(func() {
			defer func() { <-limit }()
			told, err := r.pool.Tell(ctx, s, violating, r.Stories, within)
			r.mu.Lock()
			defer r.mu.Unlock()
			result.Locks[i].Told = told
			if errors.As(err, new(died)) && ctx.Err() == nil { // the others can be told all the same
				result.Locks[i].Failed = append(result.Locks[i].Failed, Seed{Seed: violating[0].Seed, Failed: err.Error()})
				err = nil
			}
			failed = errors.Join(failed, err)
		})
	}
	work.Wait()
	return failed
}

// within is how long one subject may be told of, when so many are left.
func (r *running) within(start time.Time, left int) time.Duration {
	if r.Seeds > 0 {
		return mostShrunk * mostTime // the number of trials bounds it before
	}
	share := (r.For - time.Since(start)) * time.Duration(r.pool.Size()) / time.Duration(left)
	return max(share, leastTelling)
}

// sum adds up what came of a subject's seeds.
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
		l.strategy(x)
		l.properties(x)
		l.metBy(x)
	}
	l.Digest = hex.EncodeToString(digest.Sum(nil)[:8])
	return l
}

func (l *LockResult) strategy(x Seed) {
	i := slices.IndexFunc(l.Strategies, func(r *StrategyResult) bool { return r.Strategy == x.Strategy })
	if i < 0 {
		i = len(l.Strategies)
		l.Strategies = append(l.Strategies, &StrategyResult{Strategy: x.Strategy})
	}
	r := l.Strategies[i]
	r.Seeds++
	if len(x.Violated) > 0 {
		if r.Violating++; r.After == 0 {
			r.After = r.Seeds
		}
	}
}

func (l *LockResult) properties(x Seed) {
	for _, name := range x.Judged {
		i := slices.IndexFunc(l.Properties, func(r *PropertyResult) bool { return r.Property == name })
		if i < 0 {
			i = len(l.Properties)
			l.Properties = append(l.Properties, &PropertyResult{Property: name})
		}
		r := l.Properties[i]
		claimed, violated := slices.Contains(x.Claimed, name), slices.Contains(x.Violated, name)
		r.Judged++
		if violated {
			if r.Violated++; r.Violated == 1 {
				r.First = x.Seed
			}
		}
		if claimed {
			r.Claimed++
		}
		if claimed && violated {
			if r.Broken++; r.Broken == 1 {
				r.FirstBroken = x.Seed
			}
		}
	}
}

func (l *LockResult) metBy(x Seed) {
	for _, m := range x.Met {
		if l.Met[m.Fault] == nil {
			l.Met[m.Fault] = map[string]int{}
		}
		l.Met[m.Fault][m.State]++
	}
}
