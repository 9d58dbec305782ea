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

// logTail is how many bytes of a server's log go into an error.
const logTail = 1000

var (
	errPortTaken = errors.New("the port was taken") // between finding it free and listening on it
	errStopped   = errors.New("it was stopped for good")
)

// Process is a server of our own: a child process with its own folder, on private ports of 127.0.0.1.
type Process struct {
	Refusing
	Ports  []int  // the first is the clients'
	Dir    string // its own
	Number int    // in its ensemble, from 0
	Peers  []int  // the ports by which its ensemble know each other
	Self   string // Spec.Self

	store   Store
	keeper  *children.Keeper
	version string
	freed   []func() error // what else ends with it

	child atomic.Pointer[children.Child] // its present process

	life    sync.Mutex // held while it is started, killed or stopped; guards what follows
	ended   bool       // for good
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
	// Its output rather than a log file of its own: what it has to say against its own arguments comes before any
	// log file is open.
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
		// Not politely: it has been waited for long enough.
		return errors.Join(fmt.Errorf("%s: %w; it said:\n%s", filepath.Base(cmd.Path), err, tail(said)), c.Kill())
	}
	return nil
}

// Await returns when do succeeds, while the server lives.
func (p *Process) Await(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.store.Within)
	defer cancel()
	c := p.child.Load()
	return Poll(ctx, PollEvery, func(ctx context.Context) error {
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case c.Ended():
			return Final(fmt.Errorf("it ended at once (%s)", c.State()))
		}
		return fmt.Errorf("wait for it to %s: %w", what, err)
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

// Version returns what it has told of its version.
func (p *Process) Version() string { return p.version }

// Addr returns where clients connect, as host:port.
func (p *Process) Addr() string { return Local127(p.Ports[0]) }

// Pid returns the number of its present process.
func (p *Process) Pid() int { return p.child.Load().Pid() }

// SelfAs returns this program as a server of a store that is a Go module.
func (p *Process) SelfAs(store string, args ...string) (*exec.Cmd, error) {
	if p.Self == "" {
		return nil, fmt.Errorf("this program is a server of %s itself, and was not told where it is (Spec.Self)", store)
	}
	return exec.Command(p.Self, append([]string{StoreVerb, store}, args...)...), nil
}

// Free adds what is to be freed when the node is stopped.
func (p *Process) Free(free func() error) { p.freed = append(p.freed, free) }

// WhileKept calls do unless what the node keeps for its life has been freed.
func (p *Process) WhileKept(do func()) error {
	p.life.Lock()
	defer p.life.Unlock()
	if p.ended {
		return errStopped
	}
	do()
	return nil
}

func (p *Process) URL() string { return p.store.URL(p.Addr()) }

func (p *Process) process() *Process { return p }

func (p *Process) Counters(ctx context.Context) (map[string]float64, error) {
	c, err := p.store.Counters(ctx, p.Addr())
	return c, wrapped("counters of "+p.Shown, err)
}

func (p *Process) Alive() bool { return !p.child.Load().Ended() }

func (p *Process) Pause() error { return wrapped("pause "+p.Shown, p.child.Load().Pause()) }

func (p *Process) Resume() error { return wrapped("resume "+p.Shown, p.child.Load().Resume()) }

func (p *Process) Jump(ctx context.Context, by time.Duration) error {
	if p.store.Jump == nil {
		return p.Refusing.Jump(ctx, by)
	}
	return wrapped(fmt.Sprintf("jump by %v in the clock of %s", by, p.Shown), p.store.Jump(ctx, p, by))
}

func (p *Process) Squeeze(ctx context.Context, key string) error {
	if p.store.Squeeze == nil {
		return p.Refusing.Squeeze(ctx, key)
	}
	return wrapped(fmt.Sprintf("squeeze %q out of %s", key, p.Shown), p.store.Squeeze(ctx, p.Addr(), key))
}

func (p *Process) Unseat(ctx context.Context, key string) error {
	if p.store.Unseat == nil {
		return p.Refusing.Unseat(ctx, key)
	}
	return wrapped(fmt.Sprintf("end the session that holds %q at %s", key, p.Shown), p.store.Unseat(ctx, p.Addr(), key))
}

func (p *Process) Kill() error {
	p.life.Lock()
	defer p.life.Unlock()
	return p.child.Load().Kill()
}

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
	ctx, cancel := context.WithTimeout(ctx, p.store.Within)
	defer cancel()
	return Poll(ctx, 10*PollEvery, func(ctx context.Context) error {
		err := p.run(ctx)
		if err != nil && !errors.Is(err, errPortTaken) { // another connection may have the number for a moment
			err = Final(err)
		}
		return err
	})
}

// Stop does not ask: nothing that the server holds is of use any more, and asking takes a tenth of a second.
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
