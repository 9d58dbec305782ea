package worker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"lockbench/impls"
)

// About describes a lock to lockbench. Serve adds the capabilities "renew", "probe" and "lost" itself, according to the
// methods of the lock.
type About struct {
	Name, Doc    string
	Store        string // name of the store; "": redis
	Deployment   string // name of the deployment; "": single
	Capabilities []string
	BackOff      time.Duration
	Expectations []Expectation
}

// AboutLock describes a lock of the catalog.
func AboutLock(l impls.Impl) About {
	a := About{Name: l.Name, Doc: l.Doc, Store: cmp.Or(l.Store, NoStore), Deployment: l.Deployment, BackOff: l.BackOff}
	for _, can := range []struct {
		capability string
		is         bool
	}{{CanReenter, l.Reentrant}, {CanRenewSelf, l.Renews}, {CanFence, l.Fences}, {CanNotify, l.Notifies}, {IsSession, l.Session}, {CanCancel, true}} {
		if can.is {
			a.Capabilities = append(a.Capabilities, can.capability)
		}
	}
	for _, e := range l.Expect {
		if e.Deployment == "" {
			a.Expectations = append(a.Expectations, Expectation{Property: e.Property, Fault: e.Fault, Workload: e.Workload, Expected: e.Expected.String(), Because: e.Because})
		}
	}
	return a
}

// Serve reads requests from its input, handles them concurrently, and writes replies to its output. It returns nil after the end
// of the input or a shutdown request.
//
// After the first line of input, Serve calls its first function argument, which describes the lock. Unless only the description
// was requested, Serve then calls its second function argument, which opens the lock.
func Serve(in io.Reader, out io.Writer, about func(Open) (About, error), open func(Open, impls.Env) (impls.Lock, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), MaxLine)
	if !lines.Scan() {
		return errors.Join(errors.New("read the first line: the input is empty; lockbench starts a worker and writes to its standard input"), lines.Err())
	}
	s := &server{out: json.NewEncoder(out), held: newHeld(), cancels: map[int64]context.CancelFunc{}}
	o, a, err := parseOpen(lines.Bytes(), about)
	if err == nil && o.Describe {
		return s.out.Encode(a.ready(nil))
	}
	if err == nil {
		err = s.open(o, a, open)
	}
	if err != nil {
		return errors.Join(err, s.out.Encode(Ready{Version: Version, Error: err.Error()}))
	}
	err = s.serve(lines)
	return errors.Join(err, s.close())
}

func parseOpen(text []byte, about func(Open) (About, error)) (o Open, a About, err error) {
	if err := json.Unmarshal(text, &o); err != nil || o.Version != Version {
		return o, a, fmt.Errorf("the first line must be of version %d of the worker protocol: %s", Version, quoted(text))
	}
	a, err = about(o)
	return o, a, err
}

type server struct {
	lock     impls.Lock
	resource resource
	life     context.Context
	end      context.CancelFunc
	asked    sync.WaitGroup

	writing sync.Mutex // guards the output; separate from mu, so that requests can be read while the output blocks
	out     *json.Encoder
	failed  error

	mu      sync.Mutex // guards the fields below
	held    held
	cancels map[int64]context.CancelFunc
}

func (s *server) open(o Open, a About, open func(Open, impls.Env) (impls.Lock, error)) (err error) {
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

func (a About) ready(lock impls.Lock) Ready {
	r := Ready{Version: Version, Name: a.Name, Doc: a.Doc, Store: a.Store, Deployment: a.Deployment, Capabilities: slices.Clone(a.Capabilities),
		BackOffMS: a.BackOff.Milliseconds(), Expectations: a.Expectations}
	if lock == nil {
		return r
	}
	r.Capabilities = append(r.Capabilities, CanTellLoss)
	if _, renews := lock.(impls.Renewer); renews {
		r.Capabilities = append(r.Capabilities, CanRenew)
	}
	if _, probes := lock.(impls.Prober); probes {
		r.Capabilities = append(r.Capabilities, CanProbe)
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
			return fmt.Errorf("parse request: %s", quoted(lines.Bytes()))
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

func (s *server) close() error {
	s.end()
	err := s.lock.Close()
	s.asked.Wait()
	return errors.Join(err, s.failed)
}

// held tracks the current and recently released holds of a worker, so that the worker can report losses and renewals. It does
// not contain nested holds.
type held struct {
	over  map[int64]chan struct{} // for each current hold, by id of its acquire: a channel that is closed when the release begins
	named map[string]int64        // id of the latest hold, by the name of the hold (its key and token)
	ended []string                // names of released holds; the first is the oldest
	early map[string][]Line       // renewals that arrived before the reply to the acquire, by name of the hold
}

// remembered is the maximum number of released holds for which late renewals are still reported.
const remembered = 1 << 14

func newHeld() held {
	return held{over: map[int64]chan struct{}{}, named: map[string]int64{}, early: map[string][]Line{}}
}

func name(key, token string) string { return key + "\x00" + token }

// mostEarly is the maximum number of stored renewals that arrived before their grant.
const mostEarly = 1000

// renewed returns the id of the acquire that created the hold with the given name. If that hold is not recorded yet, renewed
// returns 0 and stores the renewal l. The stored renewal is reported when the hold is recorded.
func (h *held) renewed(name string, l Line) int64 {
	id := h.named[name]
	if id == 0 && len(h.early) < mostEarly {
		h.early[name] = append(h.early[name], l)
	}
	return id
}

// begin records a hold. It returns the renewals that arrived before the grant, and a channel that is closed when the hold is
// released.
func (h *held) begin(id int64, name string) (over chan struct{}, early []Line) {
	over, early = make(chan struct{}), h.early[name]
	delete(h.early, name)
	h.over[id], h.named[name] = over, id
	for i := range early {
		early[i].Renewed = id
	}
	return over, early
}

// end removes a hold from the current holds and closes its channel. It must be called before the hold is released. It ignores
// nested holds.
func (h *held) end(id int64, name string) {
	over := h.over[id]
	if over == nil {
		return
	}
	close(over)
	delete(h.over, id)
	h.ended = append(h.ended, name)
	if len(h.ended) > remembered {
		if oldest := h.ended[0]; h.over[h.named[oldest]] == nil { // keep the entry if a current hold has the same name
			delete(h.named, oldest)
		}
		h.ended = h.ended[1:]
	}
}

func (s *server) answer(ctx context.Context, r Request, read time.Time) Line {
	var l Line
	var err error
	switch r.Do {
	case "ping":
		if r.Time {
			l.TimeMS = time.Now().UnixMilli()
		}
	case "acquire":
		l, err = s.acquire(ctx, r, read)
	case "release":
		s.mu.Lock()
		s.held.end(r.Hold, name(r.Key, r.Token))
		s.mu.Unlock()
		err = s.lock.Release(ctx, r.Grant())
	case "renew":
		l, err = s.renew(ctx, r)
	case "probe":
		l, err = s.probe(ctx, r)
	case "read":
		l.Value, err = s.resource.read(ctx, r.Key, r.Fence)
	case "write":
		err = s.resource.write(ctx, r.Key, r.Value, r.Fence)
	case "append":
		err = s.resource.append(ctx, r.Key, r.Fence)
	default:
		err = fmt.Errorf("unknown request %q", r.Do)
	}
	l.ID = r.ID
	l.setOutcome(err)
	return l
}

// setOutcome sets the outcome of a reply. Only ErrBusy, ErrNotHeld and a stale token are definite refusals; any other error
// is indeterminate.
func (l *Line) setOutcome(err error) {
	switch {
	case err == nil:
		l.OK = true
	case errors.Is(err, impls.ErrBusy):
		l.Refused = Busy
	case errors.Is(err, impls.ErrNotHeld):
		l.Refused = NotHeld
	case errors.Is(err, errStale):
		l.Refused = Stale
	default:
		l.Error = err.Error()
	}
}

func (s *server) acquire(ctx context.Context, r Request, read time.Time) (Line, error) {
	h, err := s.lock.Acquire(ctx, impls.Request{Key: r.Key, Owner: r.Owner, TTL: time.Duration(r.TTLMS) * time.Millisecond,
		Wait: time.Duration(r.WaitMS) * time.Millisecond, KeepAlive: r.KeepAlive})
	if err != nil {
		return Line{Key: h.Key}, err
	}
	if h.Depth <= 1 {
		s.remember(h, r.ID, read)
	}
	return Line{Key: h.Key, Token: h.Token, Fence: h.Fence, Depth: h.Depth, SentAfter: int64(h.SentAfter), Validity: int64(h.Validity)}, nil
}

func (s *server) remember(h impls.Hold, id int64, read time.Time) {
	s.mu.Lock()
	over, early := s.held.begin(id, name(h.Key, h.Token))
	s.mu.Unlock()
	for _, l := range early {
		s.write(l)
	}
	if h.Lost == nil {
		return
	}
	s.asked.Go(func() {
		select {
		case <-h.Lost:
			s.write(Line{Lost: id, Elapsed: int64(time.Since(read))})
		case <-over:
		case <-s.life.Done():
		}
	})
}

func (s *server) renewed(g impls.Grant, sent time.Duration, err error) {
	l := Line{Elapsed: int64(sent), Validity: int64(g.Validity)}
	l.setOutcome(err)
	s.mu.Lock()
	l.Renewed = s.held.renewed(name(g.Key, g.Token), l)
	s.mu.Unlock()
	if l.Renewed != 0 {
		s.write(l)
	}
}

var errUnable = errors.New("this lock does not support that")

func (s *server) renew(ctx context.Context, r Request) (Line, error) {
	renewer, ok := s.lock.(impls.Renewer)
	if !ok {
		return Line{}, errUnable
	}
	g, err := renewer.Renew(ctx, r.Grant())
	return Line{Token: g.Token, SentAfter: int64(g.SentAfter), Validity: int64(g.Validity)}, err
}

func (s *server) probe(ctx context.Context, r Request) (Line, error) {
	prober, ok := s.lock.(impls.Prober)
	if !ok {
		return Line{}, errUnable
	}
	token, left, err := prober.Probe(ctx, r.Key)
	return Line{Token: token, Left: int64(left)}, err
}
