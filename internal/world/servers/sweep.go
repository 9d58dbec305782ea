package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Root begins the name of everything that is ours on a server: lockbench:<run>:<key>.
const Root = "lockbench:"

// KeyPrefix returns what every key of a run begins with.
func KeyPrefix(run string) string { return Root + run + ":" }

// runOf finds the run in a name. It is strict: a name of somebody else's may look similar.
var runOf = regexp.MustCompile(`^lockbench:([0-9]{14}-[0-9]+-[0-9a-f]{16}):`)

// RunBegan returns when a run began, from its id; false if the text is not the id of a run.
func RunBegan(run string) (time.Time, bool) {
	if m := runOf.FindStringSubmatch(KeyPrefix(run)); m == nil || m[1] != run {
		return time.Time{}, false
	}
	at, err := time.Parse("20060102150405", run[:14])
	return at, err == nil
}

// Sweep removes what a run left on servers that are not ours; ours are gone with their data anyway.
func (g *Group) Sweep(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), SweepWithin) // also after an interrupt
	defer cancel()
	var errs []error
	swept := map[string]bool{} // servers of one target share their data
	for _, n := range g.Nodes {
		e, ok := n.(*external)
		if !ok || swept[e.target.String()] {
			continue
		}
		swept[e.target.String()] = true
		if err := e.target.Remove(ctx, run); err != nil {
			errs = append(errs, fmt.Errorf("keys of this run may be left on %s (lockbench clean --%s ... --run %s removes them): %w", e.target, e.target.Store(), run, err))
		}
	}
	return errors.Join(errs...)
}

// Runs counts what each run has on the servers.
func (t Target) Runs(ctx context.Context) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, SweepWithin)
	defer cancel()
	names, err := t.of.External.Names(ctx, t, Root)
	if err != nil {
		err = fmt.Errorf("look through %s: %w", t, t.hide(err))
	}
	slices.Sort(names)
	runs := map[string]int{}
	for _, name := range slices.Compact(names) {
		if m := runOf.FindStringSubmatch(name); m != nil {
			if _, ok := RunBegan(m[1]); ok {
				runs[m[1]]++
			}
		}
	}
	return runs, err
}

// Remove removes what a run has on the servers.
func (t Target) Remove(ctx context.Context, run string) error {
	if _, ok := RunBegan(run); !ok {
		return errors.New("remove what a run left: that is not the id of one")
	}
	ctx, cancel := context.WithTimeout(ctx, SweepWithin)
	defer cancel()
	if err := t.of.External.Remove(ctx, t, KeyPrefix(run)); err != nil {
		return fmt.Errorf("remove from %s: %w", t, t.hide(err))
	}
	return nil
}

// After returns the first name, in the order of bytes, after all that begin with a prefix that ends with a colon.
func After(prefix string) string { return strings.TrimSuffix(prefix, ":") + ";" }

// AskWithin bounds a question to a server that is there but does not answer.
const AskWithin = 2 * time.Second

const (
	DatabaseWithin = 20 * time.Second // bounds the start of a database: one that crashed looks through its log first
	UnseatWithin   = 5 * time.Second  // bounds Store.Unseat
)

// ErrNoHolder is returned by Store.Unseat if no client holds the lock.
var ErrNoHolder = errors.New("nobody was seen to hold it")

// AwaitGone returns when a count of sessions is 0.
func AwaitGone(ctx context.Context, count func(ctx context.Context, left *int) error) error {
	return Poll(ctx, PollEvery, func(ctx context.Context) error {
		left := 1
		if err := count(ctx, &left); err != nil || left > 0 {
			return errors.Join(errors.New("its session was not seen to end"), err)
		}
		return nil
	})
}

// PollEvery is the interval at which a server of ours is asked for something that it will do soon.
const PollEvery = 2 * time.Millisecond

// Ask asks one question on a connection of its own: a client library would add commands of its own to what is counted.
func Ask(ctx context.Context, addr string, question func(net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, AskWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // a time long past: give up now
	return question(conn)
}

// Poll calls do until it returns nil or a Final error; when the context ends, it returns that and the last error.
func Poll(ctx context.Context, every time.Duration, do func(context.Context) error) error {
	for {
		err := do(ctx)
		var last final
		switch {
		case err == nil:
			return nil
		case errors.As(err, &last):
			return last.error
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(every):
		}
	}
}

// Final returns an error that Poll does not wait beyond.
func Final(err error) error { return final{err} }

type final struct{ error }

// ErrNotYet is for Poll: what is waited for has not come about.
var ErrNotYet = errors.New("it has not yet")

// ErrNoCounters is returned by nodes that do not count.
var ErrNoCounters = errors.New("this server has no counters")

// Node is one server. When a method that injects a fault returns nil, the fault was seen to take effect; after an error
// it must be taken for not injected. The emulator and servers that are not ours refuse all faults but Kill (the emulator).
type Node interface {
	// URL returns where it listens, for its life. It may hold a password: it is for connecting, never for a text.
	URL() string
	// Counters returns the server's own cumulative figures since its start, by name. Subtract two readings to see what
	// something costs; asking is itself a command and is counted. ErrNoCounters: it has none.
	Counters(context.Context) (map[string]float64, error)
	// Alive reports whether it has a process, paused or not. One that is not ours is taken to be alive.
	Alive() bool

	// Pause stops the process; connections stay open, and what is sent to it waits. Resume continues it. Either is an
	// error of a dead node.
	Pause() error
	Resume() error
	// Kill ends it at once, with no chance to write or to say goodbye. To kill a dead node is no error.
	Kill() error
	// Restart kills it, unless it is dead, and starts it again on the same port with the same options. It returns within
	// seconds, when the node answers: empty, or, of the deployment Durable, with all that it has acknowledged. A replica
	// follows its primary again.
	Restart(context.Context) error
	// Jump moves its wall clock, forward or (by < 0) back, on top of earlier jumps, for the rest of the node's life. It
	// needs Spec.Clock.
	Jump(ctx context.Context, by time.Duration) error
	// Squeeze makes it short of memory until it evicts a key, and then gives the memory back. Other keys may be evicted
	// too, least recently used first. It is an error if the key is not there, or is not evicted within seconds.
	Squeeze(ctx context.Context, key string) error
	// Unseat ends the session that holds the lock with this key (with its prefix), as an administrator would. It is an
	// error if no holder was found, or its session is not seen to end.
	Unseat(ctx context.Context, key string) error

	// Stop ends it, if it is ours, and removes what it left on disk: within seconds, and without asking it to save
	// anything. It may be called again.
	Stop() error
}

// Refusing is embedded in nodes to refuse what can only be done to a server of our own: a fault that is not injected must
// not look as if it were.
type Refusing struct {
	Shown string // the node, as it may be shown
}

func (r Refusing) refuse(what string) error {
	return fmt.Errorf("%s %s: that needs a server of our own, of a product that it is known how to do it to", what, r.Shown)
}

func (r Refusing) Pause() error                              { return r.refuse("pause") }
func (r Refusing) Resume() error                             { return r.refuse("resume") }
func (r Refusing) Restart(context.Context) error             { return r.refuse("restart") }
func (r Refusing) Jump(context.Context, time.Duration) error { return r.refuse("move the clock of") }
func (r Refusing) Unseat(context.Context, string) error      { return r.refuse("end a session of") }
func (r Refusing) Squeeze(context.Context, string) error     { return r.refuse("take memory from") }
