package spread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/internal/fleet"
	"lockbench/reports/format"
	"lockbench/workloads"
)

// Crew runs trials on a fixed number of agents.
type Crew struct {
	Fleet   *fleet.Coordinator
	Size    int          // number of agents
	Servers []string     // addresses without secrets; every agent must have been allowed to put load on them
	Note    func(string) // receives what the crew waits for

	names []string // agents of the latest trial
	first bool     // whether a trial has begun
}

// Trial holds the merged recordings of the agents in a trial.
type Trial struct {
	*Merged
	Agents []string
	From   time.Duration // start of the measured window in the merged histories
	Late   time.Duration // longest delay of the start of an agent
}

// replaceTimeout is the time for which a crew waits for an agent that replaces a lost one.
const replaceTimeout = time.Minute

// Gather waits until there are enough agents. The first time it waits without a limit.
func (c *Crew) Gather(ctx context.Context) error {
	limited, cancel := ctx, func() {}
	if c.first {
		limited, cancel = context.WithTimeout(ctx, replaceTimeout)
	}
	defer cancel()
	for told := -1; ; {
		if err := c.choose(ctx); err != nil {
			return err
		}
		if len(c.names) == c.Size {
			c.first = true
			return nil
		}
		if told != len(c.names) {
			told = len(c.names)
			c.Note(fmt.Sprintf("%d of %s ready%s", told, format.Plural(c.Size, "agent"), c.others()))
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		case <-limited.Done():
			return fmt.Errorf("only %d of %s left", told, format.Plural(c.Size, "agent"))
		}
	}
}

// others describes agents that cannot take part.
func (c *Crew) others() string {
	if n := len(c.Fleet.Foreign()); n > 0 {
		return fmt.Sprintf("; %s of another version of lockbench", format.Plural(n, "agent"))
	}
	return ""
}

// choose updates the names of the crew. It keeps those that reply, so that trials run on the same agents if possible.
func (c *Crew) choose(ctx context.Context) error {
	var candidates, chosen []string
	for _, p := range c.Fleet.Agents() {
		candidates = append(candidates, p.Name)
	}
	for _, name := range slices.Concat(c.names, candidates) {
		if len(chosen) == c.Size || slices.Contains(chosen, name) || !slices.Contains(candidates, name) {
			continue
		}
		_, err := fleet.Call[struct{}](ctx, c.Fleet, name, checkCall, c.Servers, callTimeout)
		switch {
		case err == nil:
			chosen = append(chosen, name)
		case !errors.Is(err, fleet.ErrSilent):
			return err
		}
	}
	c.names = chosen
	return nil
}

// Run runs a trial. It uses fewer agents if the trial has fewer clients. The error is ErrDiscarded if an agent was lost, was late,
// or has a clock that cannot be used: the others would have put a smaller load on the servers.
func (c *Crew) Run(ctx context.Context, s Share) (*Trial, error) {
	if err := c.Gather(ctx); err != nil {
		return nil, err
	}
	names := c.names[:min(c.Size, s.Params.Clients)]
	s.Params.Processes = processes(s.Params.Processes, s.Params.Clients, len(names))
	x := &running{Crew: c, share: s, names: names, done: make([]done, len(names)), watch: newWatch(c.Fleet, names)}
	if err := x.run(ctx); err != nil {
		return nil, err
	}
	all := make([]Recording, len(names))
	get, fetching := errgroup.WithContext(ctx)
	for i := range names {
		get.Go(func() (err error) { all[i], err = x.fetch(fetching, i); return err })
	}
	if err := get.Wait(); err != nil {
		return nil, discardIfLost(err)
	}
	merged, err := Merge(all)
	if err != nil {
		return nil, err
	}
	t := &Trial{Merged: merged, Agents: names, From: x.at + WarmUp - merged.Origin}
	if stall := merged.Header.Stall.D(); stall > s.Params.TTL {
		return nil, fmt.Errorf("%w: an agent was paused for %s, longer than the TTL of %s", ErrDiscarded, stall.Round(time.Millisecond), s.Params.TTL)
	}
	t.Late, err = x.late()
	return t, err
}

// late returns the longest delay of the start of an agent. The error is ErrDiscarded if that is too long.
func (x *running) late() (most time.Duration, err error) {
	for i, d := range x.done {
		if most = max(most, d.Late); d.Late > lateStart {
			return most, fmt.Errorf("%w: agent %s began %s late", ErrDiscarded, x.names[i], d.Late.Round(time.Millisecond))
		}
	}
	return most, nil
}

// processes returns the number of simulated processes: at least the planned one, and the same on each agent.
func processes(planned, clients, agents int) int {
	n := (planned + agents - 1) / agents * agents
	if n > clients {
		n = clients / agents * agents
	}
	return n
}

// running is a trial under way.
type running struct {
	*Crew
	share Share
	names []string
	done  []done
	watch *watch
	at    time.Duration // common start on the coordinator's clock
}

func (x *running) part(i int) workloads.Part { return workloads.Part{Index: i, Of: len(x.names)} }

// run prepares the agents, starts them, and waits for their results, while it watches their clocks.
func (x *running) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.watch.begin(ctx, cancel)
	defer func() {
		x.watch.end()
		if cause := context.Cause(ctx); cause != nil && errors.Is(cause, ErrDiscarded) {
			err = cause // it is the reason for the other errors
		}
		if err != nil {
			x.tell(context.WithoutCancel(ctx), func(int) (start, error) { return start{ID: x.share.ID, Abandon: true}, nil })
		}
	}()
	work, working := errgroup.WithContext(ctx)
	p := x.share.Params
	limit := prepareTimeout + startTimeout + WarmUp + p.Duration + p.TTL + p.Wait + prepareTimeout
	for i, name := range x.names {
		share := x.share
		share.Part = x.part(i)
		work.Go(func() (err error) {
			x.done[i], err = fleet.Call[done](working, x.Fleet, name, runCall, share, limit)
			return discardIfLost(err)
		})
	}
	work.Go(func() error { return x.start(working) })
	return work.Wait()
}

// start waits until all agents are ready, and gives them a common start.
func (x *running) start(ctx context.Context) error {
	ready, waiting := errgroup.WithContext(ctx)
	for _, name := range x.names {
		ready.Go(func() error {
			_, err := fleet.Call[struct{}](waiting, x.Fleet, name, readyCall, x.share.ID, prepareTimeout)
			return discardIfLost(err)
		})
	}
	if err := ready.Wait(); err != nil {
		return err
	}
	x.at = x.Fleet.Now() + startDelay
	return x.tell(ctx, func(i int) (start, error) {
		at, err := x.watch.remote(i, x.at)
		return start{ID: x.share.ID, At: at}, err
	})
}

// tell sends each agent its start.
func (x *running) tell(ctx context.Context, to func(i int) (start, error)) error {
	all, telling := errgroup.WithContext(ctx)
	for i, name := range x.names {
		all.Go(func() error {
			begin, err := to(i)
			if err != nil {
				return err
			}
			_, err = fleet.Call[struct{}](telling, x.Fleet, name, startCall, begin, callTimeout)
			return discardIfLost(err)
		})
	}
	return all.Wait()
}

// fetch returns the recording of an agent.
func (x *running) fetch(ctx context.Context, i int) (r Recording, err error) {
	size := x.done[i].Size
	if size < 0 || size > mostHistory {
		return r, fmt.Errorf("the history of agent %s has %d bytes, and at most %d are taken; shorten --duration", x.names[i], size, mostHistory)
	}
	var text []byte
	for len(text) < size {
		p, err := fleet.Call[piecemeal](ctx, x.Fleet, x.names[i], historyCall, piece{x.share.ID, len(text)}, callTimeout)
		if err != nil {
			return r, err
		}
		if len(p.Bytes) == 0 || len(text)+len(p.Bytes) > size {
			return r, fmt.Errorf("the history of agent %s is not complete", x.names[i])
		}
		text = append(text, p.Bytes...)
	}
	if r, err = read(text, x.part(i)); err != nil {
		return r, fmt.Errorf("the history of agent %s: %w", x.names[i], err)
	}
	r.Agent, r.Zero = x.names[i], x.done[i].Zero
	if r.Offset, err = x.watch.offset(i); err != nil {
		return r, fmt.Errorf("%w: agent %s: %w", ErrDiscarded, x.names[i], err)
	}
	return r, nil
}

// discardIfLost makes the error of an agent that does not reply one that discards the trial.
func discardIfLost(err error) error {
	if errors.Is(err, fleet.ErrSilent) {
		return fmt.Errorf("%w: %w", ErrDiscarded, err)
	}
	return err
}
