package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world/children"
)

const logTail = 1000

var (
	errPortTaken = errors.New("the port was taken") // another program took the port after FreePort had returned it
	errStopped   = errors.New("the server has been stopped")
)

// Process is a server that runs as a child process. It has a data folder and ports of 127.0.0.1.
type Process struct {
	Refusing
	Ports  []int  // ports of the server; the first port is for clients
	Dir    string // data folder of the server
	Number int    // index of the server in its ensemble
	Peers  []int  // ports for the connections between the servers of the ensemble
	Self   string // value of Spec.Self

	store   Store
	keeper  *children.Keeper
	version string
	freed   []func() error // functions that Stop calls after the process has ended

	child atomic.Pointer[children.Child] // current child process, which Restart replaces

	life    sync.Mutex // held while the server is started, killed or stopped; guards the fields below
	ended   bool       // whether Stop was called
	stopped error
}

var _ Node = (*Process)(nil)

func (p *Process) create(ctx context.Context) (err error) {
	if p.Dir, err = p.keeper.Folder(); err != nil {
		return err
	}
	if p.store.Prepare != nil {
		if err := p.store.Prepare(ctx, p); err != nil {
			return err
		}
	}
	return p.run(ctx)
}

func (p *Process) run(ctx context.Context) error {
	cmd, err := p.store.Command(p)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(p.Dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	// Write the standard output to the log file too. A server reports invalid arguments before it opens a log.
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	c, err := p.keeper.Start(cmd)
	if err != nil {
		return err
	}
	p.child.Store(c)
	err = p.Await(ctx, "answer", func(ctx context.Context) (err error) {
		version, err := p.store.Ask(ctx, p)
		if err == nil {
			p.version = version
		}
		return err
	})
	if err != nil {
		said := logged(p.Dir)
		if bytes.Contains(bytes.ToLower(said), []byte("address already in use")) {
			err = errPortTaken
		}
		// Kill the server. A clean stop is not needed, because it has failed to start.
		return errors.Join(fmt.Errorf("%s: %w; output:\n%s", filepath.Base(cmd.Path), err, tail(said)), c.Kill())
	}
	return nil
}

// Await calls do repeatedly until it returns nil. If the server ends or Store.StartTimeout passes first, Await returns
// an error.
func (p *Process) Await(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.store.StartTimeout)
	defer cancel()
	c := p.child.Load()
	return Poll(ctx, PollEvery, func(ctx context.Context) error {
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case c.Ended():
			return Final(fmt.Errorf("the server exited (%s)", c.State()))
		}
		return fmt.Errorf("wait for the server to %s: %w", what, err)
	})
}

func logged(dir string) []byte {
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return log
}

func tail(log []byte) []byte { return bytes.TrimSpace(log[max(0, len(log)-logTail):]) }

// Version returns the version that the server reported when it started.
func (p *Process) Version() string { return p.version }

// Addr returns the address that clients connect to, as host:port.
func (p *Process) Addr() string { return Loopback(p.Ports[0]) }

// Pid returns the process ID of the server.
func (p *Process) Pid() int { return p.child.Load().Pid() }

// SelfCommand returns a command that runs a built-in server. The command starts this program.
func (p *Process) SelfCommand(store string, args ...string) (*exec.Cmd, error) {
	if p.Self == "" {
		return nil, fmt.Errorf("start the built-in %s: Spec.Self is empty", store)
	}
	return exec.Command(p.Self, append([]string{StoreVerb, store}, args...)...), nil
}

// Free adds a function that Stop calls after the process has ended.
func (p *Process) Free(free func() error) { p.freed = append(p.freed, free) }

// UnlessStopped calls do and returns nil. If Stop was called before, it returns an error and does not call do.
func (p *Process) UnlessStopped(do func()) error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.ended {
		return errStopped
	}
	do()
	return nil
}

// URL implements Node.
func (p *Process) URL() string { return p.store.URL(p.Addr()) }

func (p *Process) process() *Process { return p }

// Counters implements Node.
func (p *Process) Counters(ctx context.Context) (map[string]float64, error) {
	c, err := p.store.Counters(ctx, p.Addr())
	return c, wrapped("read the counters of "+p.Shown, err)
}

// Alive implements Node.
func (p *Process) Alive() bool { return !p.child.Load().Ended() }

// Pause implements Node.
func (p *Process) Pause() error { return wrapped("pause "+p.Shown, p.child.Load().Pause()) }

// Resume implements Node.
func (p *Process) Resume() error { return wrapped("resume "+p.Shown, p.child.Load().Resume()) }

// MoveClock implements Node.
func (p *Process) MoveClock(ctx context.Context, by time.Duration) error {
	if p.store.MoveClock == nil {
		return p.Refusing.MoveClock(ctx, by)
	}
	return wrapped(fmt.Sprintf("move the clock of %[2]s by %[1]v", by, p.Shown), p.store.MoveClock(ctx, p, by))
}

// Evict implements Node.
func (p *Process) Evict(ctx context.Context, key string) error {
	if p.store.Evict == nil {
		return p.Refusing.Evict(ctx, key)
	}
	return wrapped(fmt.Sprintf("evict %q from %s", key, p.Shown), p.store.Evict(ctx, p.Addr(), key))
}

// Enter implements Node.
func (p *Process) Enter(ctx context.Context, s State) (func() error, error) {
	if p.store.Enter == nil {
		return p.Refusing.Enter(ctx, s)
	}
	leave, err := p.store.Enter(ctx, p.Addr(), s)
	return leave, wrapped(fmt.Sprintf("make %s %s", p.Shown, s), err)
}

// EndSession implements Node.
func (p *Process) EndSession(ctx context.Context, key string, of Role) error {
	if p.store.EndSession == nil {
		return p.Refusing.EndSession(ctx, key, of)
	}
	return wrapped(fmt.Sprintf("end the session of the %s of %q at %s", of, key, p.Shown), p.store.EndSession(ctx, p.Addr(), key, of))
}

// Kill implements Node.
func (p *Process) Kill() error {
	p.life.Lock()
	defer p.life.Unlock()
	return p.child.Load().Kill()
}

// Restart implements Node.
func (p *Process) Restart(ctx context.Context) error {
	return wrapped("restart "+p.Shown, p.restart(ctx))
}

func (p *Process) restart(ctx context.Context) error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.ended {
		return errStopped
	}
	if err := p.child.Load().Kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.store.StartTimeout)
	defer cancel()
	return Poll(ctx, 10*PollEvery, func(ctx context.Context) error {
		err := p.run(ctx)
		if err != nil && !errors.Is(err, errPortTaken) { // if another program uses the port only briefly, try again
			err = Final(err)
		}
		return err
	})
}

// Stop implements Node. It kills the server without a clean stop, because its data is no longer needed.
func (p *Process) Stop() error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.ended {
		return p.stopped
	}
	p.ended = true
	var errs []error
	if c := p.child.Load(); c != nil {
		errs = append(errs, c.Kill())
	}
	for _, free := range p.freed {
		errs = append(errs, free())
	}
	if p.Dir != "" {
		errs = append(errs, os.RemoveAll(p.Dir))
	}
	p.stopped = errors.Join(errs...)
	return p.stopped
}
