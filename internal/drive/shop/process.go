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

	"lockbench/internal/world/children"
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
	unread := json.NewEncoder(p.in).Encode(o) // of less interest than why it was not read, if the process tells
	text, err := bufio.NewReader(io.LimitReader(out, longestLine)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it did not say where it listens: %w", err)
	}
	var r ready
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		return fmt.Errorf("what it said first is not understood: %w", err)
	case r.Error != "":
		return errors.New(r.Error)
	case unread != nil:
		return fmt.Errorf("it did not read what it was told: %w", unread)
	}
	p.URL = "http://" + r.Address
	return nil
}

// Reached asks how many orders reached it.
func (p *Process) Reached(ctx context.Context) (r Reached, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if r, err = ask[Reached](ctx, http.DefaultClient, http.MethodGet, p.URL+reachedPath); err != nil {
		err = fmt.Errorf("ask a service how many orders reached it: %w", err)
	}
	return r, err
}

// Close asks it to end, by the end of its input, and kills it if it does not.
func (p *Process) Close() error { return p.child.Stop(p.in.Close) }
