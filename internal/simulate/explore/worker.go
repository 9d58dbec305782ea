package explore

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

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
