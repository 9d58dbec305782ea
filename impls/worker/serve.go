package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"lockbench/impls"
)

// About is what a lock says of itself.
type About struct {
	Name, Doc  string
	Deployment string // single where it is left out
	Reentrant  bool
	Renews     bool // by itself
	Fences     bool // each grant bears a token
	BackOff    time.Duration
	Expect     []Expect
}

// Main is a worker's main function: it serves until lockbench has done, and ends the process where something
// went wrong. What the program prints meanwhile goes to its standard error: the standard output is taken.
func Main(about About, open func(impls.Env) (impls.Lock, error)) {
	out := os.Stdout
	os.Stdout = os.Stderr
	err := Serve(os.Stdin, out, func(Open) (About, error) { return about, nil }, func(_ Open, env impls.Env) (impls.Lock, error) { return open(env) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve speaks the protocol on a pair of streams until the input ends or asks to shut down, which is no error.
// What is asked for at once is done at once. about and open are called once, with the first line.
func Serve(in io.Reader, out io.Writer, about func(Open) (About, error), open func(Open, impls.Env) (impls.Lock, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), MaxLine)
	if !lines.Scan() {
		return errors.Join(errors.New("a worker is started by lockbench, which writes to its standard input; there is nothing"), lines.Err())
	}
	s := &server{out: json.NewEncoder(out), held: newHeld(), cancels: map[int64]context.CancelFunc{}}
	if err := s.open(lines.Bytes(), about, open); err != nil {
		return errors.Join(err, s.out.Encode(Ready{Version: Version, Error: err.Error()}))
	}
	err := s.serve(lines)
	return errors.Join(err, s.close())
}

type server struct {
	lock     impls.Lock
	resource resource
	life     context.Context
	end      context.CancelFunc
	asked    sync.WaitGroup

	writing sync.Mutex // guards the output: apart, so that requests are read while nobody reads the answers
	out     *json.Encoder
	failed  error

	mu      sync.Mutex // guards what follows
	held    held
	cancels map[int64]context.CancelFunc
}

func (s *server) open(text []byte, about func(Open) (About, error), open func(Open, impls.Env) (impls.Lock, error)) error {
	var o Open
	if err := json.Unmarshal(text, &o); err != nil || o.Version != Version {
		return fmt.Errorf("the first line must be version %d of the worker protocol, and is %s", Version, quoted(text))
	}
	a, err := about(o)
	if err != nil {
		return err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.resource = resource(o.Resource)
	s.lock, err = open(o, impls.Env{Nodes: o.Nodes, CAFile: o.CAFile, Prefix: o.Prefix, Process: o.Process, Params: o.Params,
		Rand: impls.NewRand(o.Seed, uint64(o.Process)), Renewed: s.renewed})
	if err != nil {
		s.end()
		return err
	}
	if err := s.out.Encode(a.ready(s.lock)); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// ready says what a lock can do, which its type tells.
func (a About) ready(lock impls.Lock) Ready {
	r := Ready{Version: Version, Name: a.Name, Doc: a.Doc, Deployment: a.Deployment, BackOffMS: a.BackOff.Milliseconds(), Expect: a.Expect}
	_, renews := lock.(impls.Renewer)
	_, probes := lock.(impls.Prober)
	for _, can := range []struct {
		capability string
		is         bool
	}{{CanTellLoss, true}, {CanRenew, renews}, {CanProbe, probes}, {CanReenter, a.Reentrant}, {CanRenewSelf, a.Renews}, {CanFence, a.Fences}} {
		if can.is {
			r.Capabilities = append(r.Capabilities, can.capability)
		}
	}
	if x, ok := lock.(impls.Segmenter); ok {
		r.Segments = x.Segments("")
	}
	return r
}

func (s *server) serve(lines *bufio.Scanner) error {
	for lines.Scan() {
		read := time.Now()
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("a request cannot be read: %s", quoted(lines.Bytes()))
		}
		switch r.Do {
		case "shutdown":
			return nil
		case "cancel":
			s.cancel(r.Hold)
		default:
			ctx, cancel := context.WithCancel(s.life)
			s.mu.Lock()
			s.cancels[r.ID] = cancel
			s.mu.Unlock()
			s.asked.Go(func() {
				s.write(s.answer(ctx, r, read))
				s.cancel(r.ID)
			})
		}
	}
	return lines.Err()
}

func (s *server) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
}

func (s *server) write(l Line) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.out.Encode(l); err != nil && s.failed == nil {
		s.failed = err
	}
}

// close abandons, as Close of a lock does.
func (s *server) close() error {
	s.end()
	err := s.lock.Close()
	s.asked.Wait()
	return errors.Join(err, s.failed)
}
