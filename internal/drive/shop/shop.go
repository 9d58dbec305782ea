// Package shop runs a flash sale over HTTP, in which many buyers order the same item. Services in separate processes
// sell the stock under a lock. An optional nginx gate in front of the services refuses orders after the sell-out. The
// main type is Sale. It sends the orders of all buyers, records operations with a histories.Recorder, and returns
// Figures.
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

// Opening is the first line of input of a service process. It may contain passwords in URLs.
type Opening struct {
	worker.Open
	Stock   string        `json:"stock"`   // URL of the Redis server that stores the number of items left for sale
	Product string        `json:"product"` // name of the item for sale, which is also the key of its lock
	TTL     time.Duration `json:"ttl_ns"`
	Wait    time.Duration `json:"wait_ns"` // timeout of an acquire; negative: no timeout
	Hold    time.Duration `json:"hold_ns"` // duration of the work under the lock
}

type ready struct {
	Address string `json:"address,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Outcome is the result of an order, which is one buyer's attempt to buy an item.
type Outcome string

const (
	Sold    Outcome = "sold"     // the item was sold
	SoldOut Outcome = "sold out" // nothing was sold, because no items are left
	Busy    Outcome = "busy"     // nothing was sold, because the lock was not granted in time, or was lost
	Failed  Outcome = "failed"   // it is unknown whether the item was sold
)

// Answer is the shop's reply to an order. It lists the lock and resource operations of the shop process that handled
// the order. Their times are relative to the start of that process.
type Answer struct {
	Outcome  Outcome       `json:"outcome"`
	Process  int           `json:"process"`
	Gate     bool          `json:"gate,omitempty"` // whether the nginx gate answered the order, without a request to a service
	Read     time.Duration `json:"read_ns"`        // time at which the service read the request
	Answered time.Duration `json:"answered_ns"`    // time just before the service sent the answer
	Steps    []Step        `json:"steps,omitempty"`
}

// Step is one operation of a service, such as an acquire or a write. If the stock is split into segments, the steps for each
// segment begin with an acquire.
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

// Reached counts the orders that a service received.
type Reached struct {
	Orders int `json:"orders"`
	Late   int `json:"late"` // number of orders that were sent after the last item was sold
}

// URL paths of the HTTP server in each shop process. An order has the query parameter buyer. Orders sent after the
// last item was sold also have late=1.
const (
	orderPath   = "/order"
	clockPath   = "/clock"
	reachedPath = "/reached"
)

const (
	startTimeout = 10 * time.Second // time limit for starting a service process
	askTimeout   = 5 * time.Second  // timeout of connection attempts, and of all requests except orders
)

// Process is a running service process.
type Process struct {
	URL   string
	child *children.Child
	in    *os.File
	log   children.Tail
}

// Start starts a service process and returns when it listens. The keeper k kills the process when lockbench ends.
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
		return nil, fmt.Errorf("start the service %d: %w%s", o.Process, err, &p.log)
	}
	return p, nil
}

func (p *Process) introduce(ctx context.Context, out *os.File, o Opening) error {
	defer context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })()
	by := time.Now().Add(startTimeout)
	if err := errors.Join(p.in.SetWriteDeadline(by), out.SetReadDeadline(by)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	unread := json.NewEncoder(p.in).Encode(o) // write error; an error that the process reports is more specific and is returned instead
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

// Reached asks the service how many orders it has received.
func (p *Process) Reached(ctx context.Context) (r Reached, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if r, err = ask[Reached](ctx, http.DefaultClient, http.MethodGet, p.URL+reachedPath); err != nil {
		err = fmt.Errorf("read the order count of a service: %w", err)
	}
	return r, err
}

// Close ends the service by closing its input. If the service does not end, Close kills it.
func (p *Process) Close() error { return p.child.Stop(p.in.Close) }
