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
	"path/filepath"
	"strings"
	"time"

	"lockbench/internal/world/children"
)

const (
	upWithin  = 10 * time.Second // bounds the start of a process; far more than it takes
	askWithin = 5 * time.Second  // bounds a question that is no order
	logTail   = 1000             // bytes of a process's log that go into an error
)

// Process is a service as the harness sees it.
type Process struct {
	URL   string
	child *children.Child
	in    *os.File
	log   string
}

// Start starts a command as a service and returns when it listens. It ends with its keeper at the latest; its log is a
// file in dir.
func Start(ctx context.Context, k *children.Keeper, command []string, dir string, o Opening) (*Process, error) {
	p := &Process{log: filepath.Join(dir, fmt.Sprintf("service%d.log", o.Process))}
	var out *os.File
	log, err := os.Create(p.log)
	if err == nil {
		p.child, p.in, out, err = k.StartPiped(command, log)
		log.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("start the service %d: %w", o.Process, err)
	}
	defer out.Close()
	if err := p.introduce(ctx, out, o); err != nil {
		err = errors.Join(err, p.Close())
		return nil, fmt.Errorf("the service %d: %w%s", o.Process, err, said(p.log))
	}
	return p, nil
}

// introduce exchanges the first lines.
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+reachedPath, nil)
	if err != nil {
		return r, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, fmt.Errorf("ask a service how many orders reached it: %w", err)
	}
	defer resp.Body.Close()
	err = json.NewDecoder(resp.Body).Decode(&r)
	return r, err
}

// Close asks it to end, by the end of its input, and kills it if it does not.
func (p *Process) Close() error { return p.child.Stop(p.in.Close) }

// said is the end of a log as a part of an error; nothing where there is none.
func said(log string) string {
	text, err := os.ReadFile(log)
	text = text[max(0, len(text)-logTail):]
	if err != nil || len(text) == 0 {
		return ""
	}
	return "; it said:\n" + strings.TrimSpace(string(text))
}
