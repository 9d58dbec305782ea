package explore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Pool is some exploring processes: this program, started as one that serves.
type Pool struct {
	program []string
	idle    chan *explorer
	size    int
}

// explorer is one of them.
type explorer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *json.Decoder
	said    tail // on its standard error
}

// answerWithin bounds the wait for what comes of one seed, some ms as a rule: a trial that takes longer hangs.
const answerWithin = 30 * time.Second

// NewPool starts so many processes. They end with Close, and when this process does, since nobody asks them any more.
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
	e.cmd.Stderr = &e.said
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

// Close ends the processes that are idle; those that answer are no more once their request is over.
func (p *Pool) Close() {
	for range len(p.idle) {
		(<-p.idle).end()
	}
}

func (e *explorer) end() {
	e.in.Close()
	_ = e.cmd.Process.Kill() // it has nothing to lose
	_ = e.cmd.Wait()
}

// Search tries seeds and says what came of each, in order. One with which a process hangs, or dies, has failed.
func (p *Pool) Search(ctx context.Context, s Subject, from, count uint64) ([]Seed, error) {
	var all []Seed
	for done := uint64(0); done < count; done = uint64(len(all)) {
		err := p.ask(ctx, request{Subject: s, From: from + done, Count: count - done}, func(r reply) {
			if r.Seed != nil {
				all = append(all, *r.Seed)
			}
		})
		switch {
		case errors.As(err, new(died)) && ctx.Err() == nil:
			all = append(all, Seed{Seed: from + uint64(len(all)), Failed: err.Error()})
		case err != nil:
			return all, err
		}
	}
	return all, nil
}

// Minimise is Subject.Minimise in one of the processes.
func (p *Pool) Minimise(ctx context.Context, s Subject, seeds []Seed, most int, within time.Duration) (done Minimised, err error) {
	err = p.ask(ctx, request{Subject: s, Minimise: seeds, Most: most, Within: within}, func(r reply) {
		if r.Minimised != nil {
			done = *r.Minimised
		}
	})
	return done, err
}

// ask has an idle process answer. One that does not, or is not needed any more, is ended, and another takes its place.
func (p *Pool) ask(ctx context.Context, q request, each func(reply)) error {
	var e *explorer
	select {
	case e = <-p.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	kill := func() { _ = e.cmd.Process.Kill() }
	hangs := time.AfterFunc(answerWithin+q.Within, kill)
	stop := context.AfterFunc(ctx, kill)
	err := e.ask(q, func(r reply) {
		hangs.Reset(answerWithin + q.Within)
		each(r)
	})
	inTime := hangs.Stop()
	if stop() && inTime && !errors.As(err, new(died)) {
		p.idle <- e
		return err
	}
	e.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fresh, startErr := p.start()
	if startErr != nil {
		return startErr
	}
	p.idle <- fresh
	if !inTime {
		err = fmt.Errorf("no answer within %v", answerWithin+q.Within)
	}
	return died{fmt.Errorf("the process that explored %s: %w%s", q.Subject.Lock, err, &e.said)}
}

// died says that a process ended, hung or made no sense.
type died struct{ error }

func (e *explorer) ask(q request, each func(reply)) error {
	if err := json.NewEncoder(e.in).Encode(q); err != nil {
		return died{err}
	}
	for {
		var r reply
		if err := e.replies.Decode(&r); err != nil {
			return died{err}
		}
		each(r)
		switch {
		case r.Last && r.Error != "":
			return errors.New(r.Error)
		case r.Last:
			return nil
		}
	}
}

// tail keeps the end of what is written to it. It may be read when the process has ended.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-2000):]
	return len(b), nil
}

// String returns what was written, as the end of a sentence.
func (t *tail) String() string {
	if text := strings.TrimSpace(string(*t)); text != "" {
		return "; it said: " + text
	}
	return ""
}

// request is what an exploring process is asked: to try seeds, or to tell of those that showed something.
type request struct {
	Subject  Subject       `json:"subject"`
	From     uint64        `json:"from,omitempty"`
	Count    uint64        `json:"count,omitempty"`
	Minimise []Seed        `json:"minimise,omitempty"`
	Most     int           `json:"most,omitempty"`
	Within   time.Duration `json:"within_ns,omitempty"`
}

// reply is a part of the answer; the last says so.
type reply struct {
	Seed      *Seed      `json:"seed,omitempty"`
	Minimised *Minimised `json:"minimised,omitempty"`
	Error     string     `json:"error,omitempty"`
	Last      bool       `json:"last,omitempty"`
}

// Serve answers requests, one after the other, until in ends. It is what an exploring process does: of those there is
// one per processor, each with one processor only, because a trial in virtual time comes out the same there alone.
// orphaned is called as soon as in has ended, also in the middle of an answer: nobody waits for it any more.
func Serve(in io.Reader, out io.Writer, orphaned func()) error {
	requests, ended := make(chan request), make(chan error, 1)
	go func() {
		ended <- read(in, requests)
		orphaned()
	}()
	buffered := bufio.NewWriter(out)
	replies := json.NewEncoder(buffered)
	for {
		var q request
		select {
		case q = <-requests:
		case err := <-ended:
			return err
		}
		last := reply{Last: true}
		if err := q.answer(func(r reply) { _ = replies.Encode(r) }); err != nil { // that nobody reads is told by the end of in
			last.Error = err.Error()
		}
		if err := replies.Encode(last); err != nil {
			return err
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
}

// read hands requests on until there are no more.
func read(in io.Reader, requests chan<- request) error {
	decoder := json.NewDecoder(in)
	for {
		var q request
		switch err := decoder.Decode(&q); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		requests <- q
	}
}

func (q request) answer(say func(reply)) error {
	if q.Minimise != nil {
		done, err := q.Subject.Minimise(q.Minimise, q.Most, q.Within)
		say(reply{Minimised: &done})
		return err
	}
	for seed := range q.Count {
		s, err := q.Subject.Try(q.From + seed)
		if err != nil {
			return err
		}
		say(reply{Seed: &s})
	}
	return nil
}
