// Package shop is a flash sale over HTTP: services, each a process of its own, that sell a stock under a lock; a gate in
// front of them, if wanted; and the buyers. In go an opened recorder and where the servers are; what comes out is in the
// record, and in figures that only the shop knows, such as how many requests reached a service.
package shop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"lockbench/histories"
	"lockbench/impls/worker"
	"lockbench/internal/world/children"
)

// Opening is the first line that a service reads: the only place of URLs, which may hold passwords.
type Opening struct {
	worker.Open
	Stock   string        `json:"stock"`   // URL of the stock's own Redis
	Product string        `json:"product"` // the key of what is sold
	TTL     time.Duration `json:"ttl_ns"`
	Wait    time.Duration `json:"wait_ns"` // < 0: until granted
	Hold    time.Duration `json:"hold_ns"` // the work under the lock
}

// ready is its first line: its port on 127.0.0.1, or an error.
type ready struct {
	Address string `json:"address,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Outcome is the answer to a buyer.
type Outcome string

const (
	Sold    Outcome = "sold"
	SoldOut Outcome = "sold out"
	Busy    Outcome = "busy"   // the lock was not granted in time, or lost: nothing was sold
	Failed  Outcome = "failed" // it is unknown
)

// Answer is what a service answers to an order, and what it did for it: on its own clock, which began at its start.
type Answer struct {
	Outcome  Outcome       `json:"outcome"`
	Process  int           `json:"process"`
	Gate     bool          `json:"gate,omitempty"` // it comes from the gate, and no service knows of it
	Read     time.Duration `json:"read_ns"`        // when the request had been read
	Answered time.Duration `json:"answered_ns"`    // when the answer was about to be sent
	Steps    []Step        `json:"steps,omitempty"`
}

// Step is one thing that a service did, on its own clock. Each segment that it tried begins with an acquire.
type Step struct {
	Kind      histories.Kind    `json:"kind"`
	Outcome   histories.Outcome `json:"outcome"`
	Key       string            `json:"key,omitempty"`
	Called    time.Duration     `json:"called_ns"`
	Returned  time.Duration     `json:"returned_ns"`
	SentAfter time.Duration     `json:"sent_after_ns,omitempty"`
	Validity  time.Duration     `json:"validity_ns,omitempty"`
	Depth     uint16            `json:"depth,omitempty"`
	Fence     int64             `json:"fence,omitempty"`
	Value     int64             `json:"value,omitempty"`
	Error     string            `json:"error,omitempty"`
}

// Reached is how many orders reached a service, as it counted them itself.
type Reached struct {
	Orders int `json:"orders"`
	Late   int `json:"late"` // of those, by buyers that came after the sell-out
}

// The paths of a service. An order has the buyer (?buyer=), and late=1 after the sell-out.
const (
	orderPath   = "/order"
	clockPath   = "/clock"
	reachedPath = "/reached"
)

const (
	upWithin  = 10 * time.Second // bounds the start of a process; far more than it takes
	askWithin = 5 * time.Second  // bounds a question that is no order
)

// Process is a service as the harness sees it.
type Process struct {
	URL   string
	child *children.Child
	in    *os.File
	log   children.Tail
}

// Start starts a command as a service and returns when it listens. It ends with its keeper at the latest.
func Start(ctx context.Context, k *children.Keeper, command []string, o Opening) (*Process, error) {
	p := &Process{}
	child, in, out, err := k.StartPiped(command, &p.log)
	if err != nil {
		return nil, fmt.Errorf("start the service %d: %w", o.Process, err)
	}
	defer out.Close()
	p.child, p.in = child, in
	if err := p.introduce(ctx, out, o); err != nil {
		err = errors.Join(err, p.Close())
		return nil, fmt.Errorf("the service %d: %w%s", o.Process, err, &p.log)
	}
	return p, nil
}

func (p *Process) introduce(ctx context.Context, out *os.File, o Opening) error {
	defer context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })()
	by := time.Now().Add(upWithin)
	if err := errors.Join(p.in.SetWriteDeadline(by), out.SetReadDeadline(by)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	unread := json.NewEncoder(p.in).Encode(o) // less useful than the process's own error, if there is one
	text, err := bufio.NewReader(io.LimitReader(out, longestLine)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it did not report its address: %w", err)
	}
	var r ready
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		return fmt.Errorf("parse its first line: %w", err)
	case r.Error != "":
		return errors.New(r.Error)
	case unread != nil:
		return fmt.Errorf("it did not read its first line: %w", unread)
	}
	p.URL = "http://" + r.Address
	return nil
}

// Reached asks how many orders reached it.
func (p *Process) Reached(ctx context.Context) (r Reached, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if r, err = ask[Reached](ctx, http.DefaultClient, http.MethodGet, p.URL+reachedPath); err != nil {
		err = fmt.Errorf("read the order count of a service: %w", err)
	}
	return r, err
}

// Close asks it to end, by the end of its input, and kills it if it does not.
func (p *Process) Close() error { return p.child.Stop(p.in.Close) }
