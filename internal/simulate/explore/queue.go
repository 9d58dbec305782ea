package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/fleet"
)

// Cases runs cases on this machine. A Pool runs them in virtual time, and Real runs them on real processes and servers.
type Cases interface {
	Search(ctx context.Context, s Subject, from, count uint64) ([]Seed, error)
	Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error)
	// Confirm reports whether the case of a failed seed violates the same property again.
	Confirm(ctx context.Context, s Subject, failed Seed) (bool, error)
}

// TaskKind is the kind of the tasks that a Queue gives to agents.
const TaskKind = "explore"

// Queue is the engine that gives the cases of a campaign to agents.
type Queue struct {
	Fleet *fleet.Coordinator
	Setup json.RawMessage // describes to agents how they run cases
}

// Time limits of an agent for a batch of seeds, and beyond the time limit of minimising. A case that hangs ends long before.
const (
	searchLimit      = 15 * time.Minute
	minimisingExcess = 5 * time.Minute
)

// mostSent is the maximum number of violations, failures first, that are sent to be minimised.
const mostSent = 2000

// job is the body of a task. It asks for one of: a search, the repetition of a failure, minimising.
type job struct {
	Setup    json.RawMessage `json:"setup,omitempty"`
	Subject  Subject         `json:"subject"`
	From     uint64          `json:"from,omitempty"`
	Count    uint64          `json:"count,omitempty"`
	Confirm  *Seed           `json:"confirm,omitempty"`
	Minimise []Seed          `json:"minimise,omitempty"`
	Most     int             `json:"most,omitempty"`
	Limit    time.Duration   `json:"limit_ns,omitempty"` // time limit of minimising
}

// answer is the result of a job.
type answer struct {
	Seeds     []Seed    `json:"seeds,omitempty"`
	Confirmed bool      `json:"confirmed,omitempty"`
	Minimised Minimised `json:"minimised,omitzero"`
	Died      string    `json:"died,omitempty"` // why the process that minimised ended
}

// Handler returns the function that runs the tasks of a Queue. The function prepare returns what runs cases as Setup
// describes it. Handler calls done when the task no longer uses it.
func Handler(prepare func(ctx context.Context, setup json.RawMessage) (on Cases, done func(), err error)) fleet.Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var j job
		if err := json.Unmarshal(body, &j); err != nil {
			return nil, err
		}
		if j.Count > maxBatch {
			return nil, fmt.Errorf("%d seeds in one task: at most %d", j.Count, maxBatch)
		}
		on, done, err := prepare(ctx, j.Setup)
		if err != nil {
			return nil, err
		}
		defer done()
		var a answer
		switch {
		case j.Confirm != nil:
			a.Confirmed, err = on.Confirm(ctx, j.Subject, *j.Confirm)
		case j.Minimise != nil:
			a.Minimised, err = on.Minimise(ctx, j.Subject, j.Minimise, j.Most, j.Limit)
			if errors.As(err, new(died)) && ctx.Err() == nil {
				a.Died, err = err.Error(), nil
			}
		default:
			a.Seeds, err = on.Search(ctx, j.Subject, j.From, j.Count)
		}
		return a, err
	}
}

// Alone returns a queue for this process alone, and a function that closes it. The queue keeps its files in dir.
func Alone(ctx context.Context, dir string, on Cases, slots int) (*Queue, func() error, error) {
	prepare := func(context.Context, json.RawMessage) (Cases, func(), error) { return on, func() {}, nil }
	c, err := fleet.Open(ctx, fleet.Options{Dir: dir, Slots: slots, Handlers: fleet.Handlers{TaskKind: Handler(prepare)}})
	if err != nil {
		return nil, nil, err
	}
	return &Queue{Fleet: c}, func() error { return c.Close(true) }, nil
}

// Turn waits until an agent can begin another task.
func (q *Queue) Turn(ctx context.Context) (done func(), err error) { return q.Fleet.Turn(ctx) }

// Size returns the number of tasks that can run at the same time.
func (q *Queue) Size() int { return q.Fleet.Size() }

// Search runs the cases of consecutive seeds and returns their outcomes in the order of the seeds.
func (q *Queue) Search(ctx context.Context, s Subject, from, count uint64) ([]Seed, error) {
	a, err := q.do(ctx, fmt.Sprintf("%s search %d+%d", s.key(), from, count), job{Subject: s, From: from, Count: count}, searchLimit)
	if err != nil {
		return nil, err
	}
	for i, x := range a.Seeds {
		if x.Seed != from+uint64(i) {
			return nil, fmt.Errorf("an agent returned seed %d as number %d from %d", x.Seed, i, from)
		}
	}
	if uint64(len(a.Seeds)) != count {
		return nil, fmt.Errorf("an agent returned %d of %d seeds from %d", len(a.Seeds), count, from)
	}
	return a.Seeds, nil
}

// Confirm reports whether the case of a failed seed violates the same property again.
func (q *Queue) Confirm(ctx context.Context, s Subject, failed Seed) (bool, error) {
	a, err := q.do(ctx, fmt.Sprintf("%s confirm %d", s.key(), failed.Seed), job{Subject: s, Confirm: &failed}, searchLimit)
	return a.Confirmed, err
}

// Minimise minimises the violations of one lock. It returns an error of type died if the process that minimised ended.
func (q *Queue) Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	seeds = slices.Clone(seeds[:min(len(seeds), mostSent)])
	for i := range seeds[min(len(seeds), mostMinimised):] {
		seeds[mostMinimised+i].History = nil // too much for one message
	}
	key := fmt.Sprintf("%s minimise %d from %d", s.key(), len(seeds), seeds[0].Seed)
	a, err := q.do(ctx, key, job{Subject: s, Minimise: seeds, Most: most, Limit: timeLimit}, timeLimit+minimisingExcess)
	switch {
	case err != nil:
		return Minimised{}, err
	case a.Died != "":
		return a.Minimised, died{errors.New(a.Died)}
	}
	return a.Minimised, s.checkNames(a.Minimised)
}

// checkNames returns an error if an agent returned a name that cannot be part of the name of a file.
func (s Subject) checkNames(m Minimised) error {
	var names []string
	for _, c := range m.Counterexamples {
		if c.Case.Lock != s.Lock {
			return fmt.Errorf("an agent returned a counterexample of %q for %s", c.Case.Lock, s.Lock)
		}
		if names = append(names, c.Property); c.History != nil {
			names = append(names, c.History.Name)
		}
	}
	for _, u := range m.Unconfirmed {
		names = append(names, u.Property)
	}
	for _, name := range names {
		if strings.ContainsAny(name, "/\\\x00") {
			return fmt.Errorf("an agent returned the name %q", name)
		}
	}
	return nil
}

func (q *Queue) do(ctx context.Context, key string, j job, limit time.Duration) (answer, error) {
	j.Setup = q.Setup
	return fleet.Do[answer](ctx, q.Fleet, TaskKind, key, j, limit)
}

// key identifies the lock in its campaign.
func (s Subject) key() string { return s.Lock + "@" + s.Deployment }
