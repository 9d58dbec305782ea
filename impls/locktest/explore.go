package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/simulate/explore"
	"lockbench/internal/simulate/sim"
	"lockbench/internal/world/servers"
)

// Explore searches in virtual time for violations of properties that are expected to hold. It runs the lock, which must use
// Redis, under many fault plans. If it finds a violation, the test fails with a minimised counterexample and the command
// that repeats it.
func Explore(t *testing.T, open Open, o Options) {
	t.Helper()
	s, ok := begin(t, open, o, modeExplorer)
	if !ok {
		return
	}
	if err := sim.Supported(); err != nil {
		t.Skip(err)
	}
	failures, notes, err := s.explore(t.Context())
	for _, note := range notes {
		t.Log(note)
	}
	for _, f := range failures {
		t.Error(f.text)
	}
	if err != nil {
		t.Error(err)
	}
}

// perSeed bounds the time for one fault plan, which usually takes a few milliseconds.
const perSeed = 100 * time.Millisecond

// explore returns one failure for each violated property. It also returns one note for each seed whose repeated runs led
// to different histories.
func (s *suite) explore(ctx context.Context) (failures []failure, notes []string, err error) {
	explore.Register(s.lock)
	subject := explore.Subject{Lock: s.Name, Deployment: s.Deployment}
	if err := subject.Refused(); err != nil {
		return nil, nil, err
	}
	if err := s.dials(ctx); err != nil {
		return nil, nil, err
	}
	program, err := s.command(modeExplorer)
	if err != nil {
		return nil, nil, err
	}
	pool, err := explore.NewPool(program, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, nil, fmt.Errorf("start exploring processes, which are this test binary: %w", err)
	}
	defer pool.Close()
	dir, err := os.MkdirTemp("", "locktest-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	queue, end, err := explore.Alone(ctx, dir, pool, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	timeout := time.Minute + time.Duration(s.Seeds)*perSeed
	searching, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := explore.Campaign{Subjects: []explore.Subject{subject}, First: s.Seed, Seeds: s.Seeds, Counterexamples: 4}.Run(searching, queue)
	switch {
	case err != nil && ctx.Err() == nil && searching.Err() != nil:
		return nil, nil, fmt.Errorf("the search did not end within %v: in virtual time a lock must use only time, Env.Dial and Env.Rand; on Redis, use locktest.Redis", timeout)
	case err != nil:
		return nil, nil, err
	}
	lock := result.Locks[0]
	if len(lock.Failed) > 0 {
		x := lock.Failed[0]
		return nil, nil, fmt.Errorf("no verdict on seed %d: %s\nrepeat: %s", x.Seed, x.Failed, s.repeat(x.Seed, ""))
	}
	if len(lock.Disagreements) > 0 {
		return nil, nil, fmt.Errorf("the two checks of lockbench disagree, which is a defect of lockbench: %s", strings.Join(lock.Disagreements, "; "))
	}
	for _, seed := range lock.Nondeterministic {
		notes = append(notes, fmt.Sprintf("seed %d led to different histories: does the lock use only Env.Dial, Env.Rand and time?", seed))
	}
	for _, p := range lock.Properties {
		if p.Fails > 0 {
			failures = append(failures, failure{p.Property, s.counterexample(lock, p)})
		}
	}
	return failures, notes, nil
}

// dials returns an error if the lock does not use Env.Dial. Such a lock would wait for the real network in virtual time.
func (s *suite) dials(ctx context.Context) error {
	var called atomic.Bool
	unreachable := errors.New("connection refused")
	env := impls.Env{Nodes: slices.Repeat([]string{"redis://127.0.0.1:1"}, s.servers()), Rand: impls.NewRand(1, 0),
		Dial: func(context.Context, string, string) (net.Conn, error) { called.Store(true); return nil, unreachable }}
	lock, err := opened(s.lock.Open(env))
	if err == nil {
		brief, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = lock.Acquire(brief, impls.Request{Key: "k", Owner: "o", TTL: time.Second})
		_ = lock.Close()
	}
	if !called.Load() {
		return errors.Join(errors.New("the lock does not open its connections with Env.Dial, as virtual time requires: use locktest.Redis"), err)
	}
	return nil
}

// servers returns the number of servers that the lock uses.
func (s *suite) servers() int {
	if strings.HasPrefix(s.Deployment, servers.Five) {
		return 5
	}
	return 1
}

// counterexample describes the violation of a property: the events, the timeline and the command that repeats it.
func (s *suite) counterexample(lock *explore.LockResult, p *explore.PropertyResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is violated by %d of %d fault plans in which it was expected to hold\n", p.Property, p.Fails, p.Expected)
	seed := p.FirstFail
	if i := slices.IndexFunc(lock.Counterexamples, func(x explore.Counterexample) bool { return x.Fails && slices.Contains(x.Violated, p.Property) }); i >= 0 {
		x := lock.Counterexamples[i]
		seed = x.Seed
		if x.Property != p.Property {
			fmt.Fprintf(&b, "  the counterexample of %s shows it too\n", x.Property)
		} else {
			for _, event := range x.Events {
				fmt.Fprintf(&b, "  %s\n", event)
			}
			fmt.Fprintf(&b, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(x.Timeline), "\n", "\n  "))
		}
	}
	fmt.Fprintf(&b, "repeat: %s", s.repeat(seed, ""))
	return b.String()
}
