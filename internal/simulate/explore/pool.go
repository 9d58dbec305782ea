package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"lockbench/internal/world/children"
)

// Pool runs cases in child processes. Each child process runs the same program and calls Serve.
type Pool struct {
	program []string
	idle    chan *explorer
	size    int
}

// explorer is one child process of a Pool.
type explorer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *json.Decoder
	log     children.Tail // standard error of the child process
}

// batchTimeout is the time limit for a batch of seeds in a child process. One seed takes a few milliseconds.
const batchTimeout = 30 * time.Second

// NewPool starts a pool of child processes. The parameter size is their number. They end when Close is called or this
// process ends.
func NewPool(program []string, size int) (*Pool, error) {
	p := &Pool{program: program, idle: make(chan *explorer, size), size: size}
	for range size {
		e, err := p.start()
		if err != nil {
			p.Close()
			return nil, err
		}
		p.idle <- e
	}
	return p, nil
}

func (p *Pool) start() (*explorer, error) {
	e := &explorer{cmd: exec.Command(p.program[0], p.program[1:]...)}
	e.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	e.cmd.Stderr = &e.log
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.replies = json.NewDecoder(out)
	return e, e.cmd.Start()
}

// Close ends the child processes. It must not be called while a request is running.
func (p *Pool) Close() {
	for range len(p.idle) {
		(<-p.idle).end()
	}
}

func (e *explorer) end() {
	e.in.Close()
	_ = e.cmd.Process.Kill() // killing the child process is safe, because it writes no files
	_ = e.cmd.Wait()
}

// Search runs the cases of consecutive seeds and returns their outcomes in the order of the seeds. The first seed is
// from. If the case of a seed hangs or crashes the child process, its outcome has Seed.Failed set.
func (p *Pool) Search(ctx context.Context, s Subject, from, count uint64) ([]Seed, error) {
	r, err := p.send(ctx, request{Subject: s, From: from, Count: count})
	switch {
	case err == nil || !errors.As(err, new(died)) || ctx.Err() != nil:
		return r.Seeds, err
	case count == 1:
		return []Seed{{Seed: from, Failed: err.Error()}}, nil
	}
	first, err := p.Search(ctx, s, from, count/2) // halve the batch until only the failing seed is left
	if err != nil {
		return first, err
	}
	second, err := p.Search(ctx, s, from+count/2, count-count/2)
	return append(first, second...), err
}

// Confirm reports whether the failure shows again. In virtual time it does, unless the lock makes a random choice.
func (p *Pool) Confirm(ctx context.Context, s Subject, failed Seed) (bool, error) {
	r, err := p.send(ctx, request{Subject: s, Confirm: &failed})
	return r.Confirmed, err
}

// Minimise calls Subject.Minimise in one of the child processes.
func (p *Pool) Minimise(ctx context.Context, s Subject, seeds []Seed, most int, timeLimit time.Duration) (Minimised, error) {
	r, err := p.send(ctx, request{Subject: s, Minimise: seeds, Most: most, TimeLimit: timeLimit})
	return r.Minimised, err
}

// Replay runs the case in f and returns the result. The timeline has the given width in characters. If GOMAXPROCS is 1,
// the case runs in this process. Otherwise it runs in a child process, which the command program starts.
func Replay(ctx context.Context, program []string, f File, width int) (Shown, error) {
	if runtime.GOMAXPROCS(0) == 1 {
		return f.show(width)
	}
	p, err := NewPool(program, 1)
	if err != nil {
		return Shown{}, err
	}
	defer p.Close()
	r, err := p.send(ctx, request{Replay: &f, Width: width, TimeLimit: longest})
	return r.Shown, err
}

// send sends a request to an idle child process and returns the reply. If the child process exits or does not reply in
// time, send starts a new child process.
func (p *Pool) send(ctx context.Context, q request) (r reply, err error) {
	var e *explorer
	select {
	case e = <-p.idle:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	timeout := batchTimeout + q.TimeLimit
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := context.AfterFunc(waiting, func() { _ = e.cmd.Process.Kill() })
	if err = json.NewEncoder(e.in).Encode(q); err == nil {
		err = e.replies.Decode(&r)
	}
	if stop() && err == nil {
		p.idle <- e
		if r.Error != "" {
			err = errors.New(r.Error)
		}
		return r, err
	}
	e.end()
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if waiting.Err() != nil {
		err = fmt.Errorf("no reply for %v", timeout)
	}
	fresh, startErr := p.start()
	if startErr != nil {
		return r, startErr
	}
	p.idle <- fresh
	return r, died{fmt.Errorf("exploring process: %w%s", err, &e.log)}
}

// died is the error for a child process that exited, hung or sent an unreadable reply.
type died struct{ error }

// request asks a child process to run the cases of some seeds, to minimise violations, or to replay a case.
type request struct {
	Subject   Subject       `json:"subject"`
	From      uint64        `json:"from,omitempty"`
	Count     uint64        `json:"count,omitempty"`
	Minimise  []Seed        `json:"minimise,omitempty"`
	Most      int           `json:"most,omitempty"`
	Confirm   *Seed         `json:"confirm,omitempty"`
	Replay    *File         `json:"replay,omitempty"`
	Width     int           `json:"width,omitempty"`
	TimeLimit time.Duration `json:"time_limit_ns,omitempty"`
}

// reply is the answer of a child process to a request.
type reply struct {
	Seeds     []Seed    `json:"seeds,omitempty"`
	Minimised Minimised `json:"minimised,omitzero"`
	Shown     Shown     `json:"shown,omitzero"`
	Confirmed bool      `json:"confirmed,omitempty"`
	Error     string    `json:"error,omitempty"`
}

// Serve handles the requests of a Pool until it reads EOF from in. At EOF it calls orphaned at once, even during a
// request, so that the process can exit. The process must run with GOMAXPROCS=1. Otherwise trials in virtual time are
// not reproducible.
func Serve(in io.Reader, out io.Writer, orphaned func()) error {
	requests, ended := make(chan request), make(chan error, 1)
	go func() {
		defer orphaned()
		for decoder := json.NewDecoder(in); ; {
			var q request
			if err := decoder.Decode(&q); err != nil {
				ended <- err
				return
			}
			requests <- q
		}
	}()
	replies := json.NewEncoder(out)
	for {
		select {
		case q := <-requests:
			r, err := q.answer()
			if err != nil {
				r.Error = err.Error()
			}
			if err := replies.Encode(r); err != nil {
				return err
			}
		case err := <-ended:
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

func (q request) answer() (r reply, err error) {
	switch {
	case q.Replay != nil:
		r.Shown, err = q.Replay.show(q.Width)
	case q.Confirm != nil:
		r.Confirmed, err = q.Subject.shows(*q.Confirm)
	case q.Minimise != nil:
		r.Minimised, err = q.Subject.Minimise(q.Minimise, q.Most, q.TimeLimit)
	}
	for seed := q.From; seed < q.From+q.Count && err == nil; seed++ {
		var s Seed
		s, err = q.Subject.Try(seed)
		r.Seeds = append(r.Seeds, s)
	}
	return r, err
}
