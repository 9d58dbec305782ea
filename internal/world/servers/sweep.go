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

// Root is the prefix of all names that lockbench uses on a server. The names have the form lockbench:<run>:<key>.
const Root = "lockbench:"

// KeyPrefix returns the prefix of every key of a run.
func KeyPrefix(run string) string { return Root + run + ":" }

// runOf matches a name of lockbench and captures the run ID. It is strict, because other programs may use similar names.
var runOf = regexp.MustCompile(`^lockbench:([0-9]{14}-[0-9]+-[0-9a-f]{16}):`)

// RunBegan returns the start time that a run ID contains. It returns false if the text is not a run ID.
func RunBegan(run string) (time.Time, bool) {
	if m := runOf.FindStringSubmatch(KeyPrefix(run)); m == nil || m[1] != run {
		return time.Time{}, false
	}
	at, err := time.Parse("20060102150405", run[:14])
	return at, err == nil
}

// Sweep removes the keys of a run from the user's servers. Servers that lockbench started need no cleanup.
func (g *Group) Sweep(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), SweepTimeout) // the run's context may already be cancelled
	defer cancel()
	var errs []error
	swept := map[string]bool{} // addresses that are already cleaned up; all servers of one address share their data
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

// Runs returns the number of keys that each run has on the servers, by run ID.
func (t Target) Runs(ctx context.Context) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, SweepTimeout)
	defer cancel()
	names, err := t.of.External.Names(ctx, t, Root)
	if err != nil {
		err = fmt.Errorf("list the keys of runs on %s: %w", t, t.hide(err))
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

// Remove removes the keys of a run from the servers.
func (t Target) Remove(ctx context.Context, run string) error {
	if _, ok := RunBegan(run); !ok {
		return errors.New("remove the keys of a run: invalid run id")
	}
	ctx, cancel := context.WithTimeout(ctx, SweepTimeout)
	defer cancel()
	if err := t.of.External.Remove(ctx, t, KeyPrefix(run)); err != nil {
		return fmt.Errorf("remove the keys of a run from %s: %w", t, t.hide(err))
	}
	return nil
}

// After returns the first string, in byte order, that sorts after all names with the prefix. The prefix must end with a
// colon.
func After(prefix string) string { return strings.TrimSuffix(prefix, ":") + ";" }

// AskTimeout is the time limit of a request to a server that lockbench started.
const AskTimeout = 2 * time.Second

const (
	DatabaseStartTimeout = 20 * time.Second // time limit for starting a database, including recovery after a crash
	EndSessionTimeout    = 5 * time.Second  // time limit of Store.EndSession
)

// Role is the part of a client in the queue of a lock.
type Role string

const (
	Holder     Role = "holder"      // the client that holds the lock
	LastWaiter Role = "last waiter" // the waiter at the end of the queue
)

// Errors of Store.EndSession.
var (
	ErrNoHolder = errors.New("no client holds the lock")
	ErrNoWaiter = errors.New("no client waits for the lock")
	// ErrHolderChanged means that the holder released the lock while the session of a waiter was ended. The waiter may have
	// been granted the lock before.
	ErrHolderChanged = errors.New("the holder has changed meanwhile")
)

// AwaitGone waits until no sessions remain. It calls count repeatedly. count sets *left to the number of remaining
// sessions.
func AwaitGone(ctx context.Context, count func(ctx context.Context, left *int) error) error {
	return Poll(ctx, PollEvery, func(ctx context.Context) error {
		left := 1
		if err := count(ctx, &left); err != nil || left > 0 {
			return errors.Join(errors.New("its session has not ended"), err)
		}
		return nil
	})
}

// PollEvery is the interval for polling a server on this machine.
const PollEvery = 2 * time.Millisecond

// Ask opens a TCP connection to a server, calls question with it, and closes it. It uses no client library. A library
// would send additional commands and so change the server's counters.
func Ask(ctx context.Context, addr string, question func(net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // pending reads and writes fail when the context ends
	return question(conn)
}

// Poll calls do repeatedly until it returns nil or an error marked by Final. If the context ends first, Poll returns the
// context's error, joined with the last error of do.
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

// Final marks an error. Poll stops after a marked error and returns it.
func Final(err error) error { return final{err} }

type final struct{ error }

// ErrNotYet is returned by the function of Poll while the awaited condition does not hold.
var ErrNotYet = errors.New("not yet")

// ErrOtherServer is returned by Store.Ask if the server that answers is not the expected child process.
var ErrOtherServer = errors.New("another server answers on the port")

// ErrNoCounters is returned for servers without counters.
var ErrNoCounters = errors.New("this server has no counters")

// Node is one server. A method that injects a fault returns nil only if the fault was verified. After an error, treat
// the fault as not injected. A user's server supports no faults. The emulator supports only Kill.
type Node interface {
	// URL returns the address of the node, which never changes. It may contain a password and must not be printed.
	URL() string
	// Counters returns the counters of the server by name, counted from the start of the server. To measure an
	// operation, call Counters before and after it, and subtract. The difference includes the commands of one call of
	// Counters. Counters returns ErrNoCounters if the server has no counters.
	Counters(context.Context) (map[string]float64, error)
	// Alive reports whether the server's process exists, running or paused. For a user's server, it always returns true.
	Alive() bool

	// Pause stops the process until Resume is called. Connections stay open. Data sent to the server is delivered after
	// Resume. Pause and Resume fail if the process has ended.
	Pause() error
	Resume() error
	// Kill ends the process at once. It returns nil if the process has already ended.
	Kill() error
	// Restart kills the process if it is alive, and starts it again on the same port with the same options. It returns
	// when the node answers. The node has lost its data, except in the deployment Durable, which keeps every
	// acknowledged write. A restarted replica follows its primary again.
	Restart(context.Context) error
	// MoveClock moves the server's wall clock by a duration, which may be negative. Moves add up and survive restarts.
	// MoveClock requires Spec.Clock.
	MoveClock(ctx context.Context, by time.Duration) error
	// Evict makes the server evict the key by reducing its memory limit. It then restores the limit. Other keys may be
	// evicted too. Evict fails if the key does not exist or is not evicted within ten seconds.
	Evict(ctx context.Context, key string) error
	// Enter puts the server into a state. The returned function ends the state. It is nil if the state cannot be ended.
	Enter(context.Context, State) (leave func() error, err error)
	// EndSession ends the session of the client with the role at the lock of the key, as an administrator can. The key
	// includes its prefix. EndSession fails if no client has the role or the session does not end. The end of a waiter's
	// session also fails if the holder changes meanwhile.
	EndSession(ctx context.Context, key string, of Role) error

	// Stop ends a server that lockbench started and removes its files. Data is not saved. Further calls have no effect.
	Stop() error
}

// State is a condition into which Node.Enter puts a server.
type State string

const (
	Empty      State = "empty"           // all data is deleted
	Scriptless State = "without scripts" // the scripts that clients loaded are forgotten
	ReadOnly   State = "read-only"       // writes are refused, and the data is kept
	Full       State = "full"            // writes that need memory are refused
)

// Refusing provides the fault methods of Node for nodes that do not support these faults. Each method returns an error.
type Refusing struct {
	Shown string // address of the node without a password
}

func (r Refusing) refuse(what string) error {
	return fmt.Errorf("%s %s: supported only for some stores, on servers started by lockbench", what, r.Shown)
}

// Pause returns an error, because the node cannot be paused.
func (r Refusing) Pause() error { return r.refuse("pause") }

// Resume returns an error, because the node cannot be paused.
func (r Refusing) Resume() error { return r.refuse("resume") }

// Restart returns an error, because the node cannot be restarted.
func (r Refusing) Restart(context.Context) error { return r.refuse("restart") }

// MoveClock returns an error, because the node's clock cannot be moved.
func (r Refusing) MoveClock(context.Context, time.Duration) error {
	return r.refuse("move the clock of")
}

// EndSession returns an error, because the node cannot end sessions.
func (r Refusing) EndSession(context.Context, string, Role) error {
	return r.refuse("end a session of")
}

// Enter returns an error, because the node supports no states.
func (r Refusing) Enter(_ context.Context, s State) (func() error, error) {
	return nil, r.refuse("make " + string(s))
}

// Evict returns an error, because the node's memory cannot be limited.
func (r Refusing) Evict(context.Context, string) error { return r.refuse("take memory from") }
