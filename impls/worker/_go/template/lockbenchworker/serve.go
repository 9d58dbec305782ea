package lockbenchworker

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	version       = 2
	longestLine   = 1 << 20
	keptReleased  = 1 << 14
	usualInterval = 20 * time.Millisecond
)

type server[C, H any] struct {
	Lock[C, H]
	client   C
	prefix   string // prefix of every key in the store
	resource string // base URL of the guarded resource

	writing sync.Mutex // guards the field out; separate from mu, so that requests can be read while the output blocks
	out     io.Writer

	mu       sync.Mutex // guards the fields below
	cancels  map[int64]context.CancelFunc
	holds    map[int64]*held[H] // current and recently released holds, by the id of the acquire
	released []int64            // ids of released holds, oldest first
}

// held is the state of a hold. It exists from the start of the acquire, because the library may report renewals before the
// acquire ends.
type held[H any] struct {
	Hold[H]
	over     chan struct{} // closed when the first release begins
	ended    bool          // whether a release has begun
	answered bool          // whether the reply to the acquire was written
	early    []reply       // renewals that the library reported before the reply to the acquire was written
}

// or returns a if it is not the zero value, and otherwise b.
func or[T comparable](a, b T) T {
	var zero T
	if a == zero {
		return b
	}
	return a
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// serve handles requests until a shutdown request, the end of the input or an invalid line. Requests in progress then end
// with the process.
func serve[C, H any](l Lock[C, H], in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	if !lines.Scan() {
		return errors.Join(errors.New("read the first line: the input is empty; lockbench starts a worker"), lines.Err())
	}
	s := &server[C, H]{Lock: l, out: out, cancels: map[int64]context.CancelFunc{}, holds: map[int64]*held[H]{}}
	d := l.describe()
	if err := s.open(lines.Bytes()); err != nil {
		d.Error = scrub(err)
		s.write(d)
		return err
	}
	s.write(d)
	for lines.Scan() {
		r := request{read: time.Now()}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("parse a request: %w", err)
		}
		switch r.Do {
		case "shutdown":
			return nil
		case "cancel":
			s.cancel(r.Hold)
		default:
			ctx, cancel := context.WithCancel(context.Background())
			s.mu.Lock()
			s.cancels[r.ID] = cancel
			s.mu.Unlock()
			go s.answer(ctx, r)
		}
	}
	return lines.Err()
}

// open parses the first line. It then opens the lock, unless only the description was requested.
func (s *server[C, H]) open(text []byte) error {
	var o opening
	switch err := json.Unmarshal(text, &o); {
	case err != nil || o.Version != version:
		return fmt.Errorf("the first line is not of version %d of the worker protocol", version)
	case s.Open == nil || s.Release == nil || (s.Try == nil) == (s.Acquire == nil):
		return errors.New("the worker must define Open, Release, and either Try or Acquire")
	case o.Describe:
		return nil
	}
	o.Env.TTL = milliseconds(o.TTLMS)
	s.prefix, s.resource, s.Backoff = o.Prefix, o.Resource, or(s.Backoff, usualInterval)
	var err error
	s.client, err = s.Open(o.Env)
	return err
}

func (l Lock[C, H]) describe() description {
	can := []string{"cancel"}
	for _, c := range []struct {
		name string
		is   bool
	}{{"waits", l.Acquire != nil}, {"renew", l.Renew != nil}, {"probe", l.Probe != nil}} {
		if c.is {
			can = append(can, c.name)
		}
	}
	if l.Try != nil {
		l.Backoff = or(l.Backoff, usualInterval)
	}
	return description{Version: version, Name: l.Name, Doc: l.Doc, Store: l.Store, Deployment: l.Deployment, Capabilities: append(can, l.Can...),
		BackoffMS: l.Backoff.Milliseconds(), ShortestMS: l.Shortest.Milliseconds(), StepMS: l.Step.Milliseconds(), StartMS: l.StartTime.Milliseconds(), Expect: l.Expect}
}

// write writes one line to lockbench. It ignores errors: if lockbench has ended, the input ends too, and serve returns.
func (s *server[C, H]) write(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // cannot fail: lines contain only strings, numbers and booleans
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(text, '\n'))
}

func (s *server[C, H]) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
}

func (s *server[C, H]) answer(ctx context.Context, r request) {
	defer s.cancel(r.ID)
	var a reply
	var err error
	switch r.Do {
	case "acquire":
		s.acquire(ctx, r)
		return
	case "ping":
		if r.Time {
			a.TimeMS = time.Now().UnixMilli()
		}
	case "release":
		err = s.release(ctx, r)
	case "renew":
		a, err = s.renew(ctx, r)
	case "probe":
		a, err = s.probe(ctx, r)
	case "read", "write", "append":
		a.Value, err = s.reach(ctx, r)
	default:
		err = fmt.Errorf("unknown request %q", r.Do)
	}
	a.ID = r.ID
	s.write(s.concluded(a, err))
}

// concluded returns the reply with the outcome that err describes: success, a refusal or an error.
func (s *server[C, H]) concluded(a reply, err error) reply {
	switch {
	case err == nil:
		a.OK = true
	case s.isBusy(err):
		a.Refused = "busy"
	case errors.Is(err, ErrNotHeld) || s.NotHeld != nil && errors.Is(err, s.NotHeld):
		a.Refused = "not held"
	case errors.Is(err, errStale):
		a.Refused = "stale"
	default:
		a.Error = scrub(err)
	}
	return a
}

func (s *server[C, H]) isBusy(err error) bool {
	return errors.Is(err, ErrBusy) || s.Busy != nil && errors.Is(err, s.Busy)
}

func (s *server[C, H]) acquire(ctx context.Context, r request) {
	h := &held[H]{over: make(chan struct{}), Hold: Hold[H]{Key: s.prefix + r.Key, Owner: r.Owner, TTL: milliseconds(r.TTLMS)}}
	q := Request{Key: h.Key, Owner: r.Owner, TTL: h.TTL, Wait: milliseconds(r.WaitMS), KeepAlive: r.KeepAlive,
		renewed: func(sent time.Time, validity time.Duration, err error) {
			a := reply{Renewed: r.ID, Elapsed: max(0, int64(sent.Sub(r.read))), Validity: int64(validity)}
			s.renewed(h, s.concluded(a, err))
		}}
	g, sent, err := s.request(ctx, q, r.read)
	if err != nil {
		s.write(s.concluded(reply{ID: r.ID}, err))
		return
	}
	h.Grant = g
	h.Token, h.Validity = or(g.Token, randomToken()), or(g.Validity, h.TTL)
	s.mu.Lock()
	s.holds[r.ID] = h
	s.mu.Unlock()
	s.write(reply{ID: r.ID, OK: true, Token: h.Token, Fence: g.Fence, Depth: g.Depth, Sent: int64(sent), Validity: int64(h.Validity)})
	s.mu.Lock()
	h.answered = true
	early := h.early
	s.mu.Unlock()
	for _, a := range early {
		s.write(a)
	}
	if g.Lost == nil || g.Depth > 1 {
		return
	}
	select {
	case <-g.Lost:
		s.write(reply{Lost: r.ID, Elapsed: int64(time.Since(r.read))})
	case <-h.over:
	}
}

// request calls Acquire once, or repeats Try until the lock is granted, the timeout expires or the context ends. The result
// sent is the time from reading the request to the last call of Try. It is 0 if Acquire was called.
func (s *server[C, H]) request(ctx context.Context, q Request, read time.Time) (g Grant[H], sent time.Duration, err error) {
	if s.Acquire != nil {
		if q.Wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, read.Add(q.Wait))
			defer cancel()
		}
		g, err = s.Acquire(ctx, s.client, q)
		return g, 0, err
	}
	for {
		sent = time.Since(read)
		if g, err = s.Try(ctx, s.client, q); !s.isBusy(err) {
			return g, sent, err
		}
		pause := s.Backoff
		if q.Wait >= 0 {
			pause = min(pause, q.Wait-time.Since(read))
		}
		if pause <= 0 {
			return g, sent, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return g, sent, err // err is a refusal, because the last try was refused
		}
	}
}

// renewed writes a notice of a renewal, or stores it until the reply to the acquire has been written.
func (s *server[C, H]) renewed(h *held[H], a reply) {
	s.mu.Lock()
	answered := h.answered
	if !answered && len(h.early) < keptReleased {
		h.early = append(h.early, a)
	}
	s.mu.Unlock()
	if answered {
		s.write(a)
	}
}

func (s *server[C, H]) release(ctx context.Context, r request) error {
	h, known := s.hold(r)
	s.mu.Lock()
	if known && !h.ended {
		h.ended = true
		close(h.over)
		s.released = append(s.released, r.Hold)
		if len(s.released) > keptReleased {
			delete(s.holds, s.released[0])
			s.released = s.released[1:]
		}
	}
	s.mu.Unlock()
	if !known && !s.ReleasesUnknown {
		return ErrNotHeld
	}
	return s.Release(ctx, s.client, h.Hold)
}

// hold returns the hold to which a request refers, and true. If this process does not know the hold, the method returns
// a hold with the data of the request, and false.
func (s *server[C, H]) hold(r request) (h *held[H], known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h = s.holds[r.Hold]; h != nil {
		return h, true
	}
	g := Grant[H]{Token: r.Token, Fence: r.Fence, Depth: r.Depth, Validity: time.Duration(r.Validity)}
	return &held[H]{Hold: Hold[H]{Grant: g, Key: s.prefix + r.Key, Owner: r.Owner}}, false
}

var errUnable = errors.New("this lock does not support that")

func (s *server[C, H]) renew(ctx context.Context, r request) (reply, error) {
	if s.Renew == nil {
		return reply{}, errUnable
	}
	h, known := s.hold(r)
	if !known {
		return reply{}, ErrNotHeld
	}
	sent := time.Since(r.read)
	err := s.Renew(ctx, s.client, h.Hold)
	if s.isBusy(err) { // some libraries return the same error for a busy lock and for a lost hold
		err = ErrNotHeld
	}
	return reply{Sent: int64(sent), Validity: int64(h.Validity)}, err
}

func (s *server[C, H]) probe(ctx context.Context, r request) (reply, error) {
	if s.Probe == nil {
		return reply{}, errUnable
	}
	token, left, err := s.Probe(ctx, s.client, s.prefix+r.Key)
	return reply{Token: token, Left: int64(left)}, err
}

var errStale = errors.New("the resource has seen a higher fencing token")

// direct is the HTTP client for the guarded resource. It uses no proxy.
var direct = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// reach reads or changes the guarded resource. It returns the value that was read.
func (s *server[C, H]) reach(ctx context.Context, r request) (int64, error) {
	method, body := map[string]string{"read": http.MethodGet, "write": http.MethodPut, "append": http.MethodPost}[r.Do], ""
	if r.Do == "write" {
		body = strconv.FormatInt(r.Value, 10)
	}
	where := fmt.Sprintf("%s%s?fence=%d", s.resource, url.PathEscape(r.Key), r.Fence)
	q, err := http.NewRequestWithContext(ctx, method, where, strings.NewReader(body))
	if err != nil {
		return 0, errors.New("reach the resource: its URL is invalid")
	}
	res, err := direct.Do(q)
	if err != nil {
		return 0, fmt.Errorf("reach the resource: %w", errors.Unwrap(err)) // the text of the url.Error contains the secret URL
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longestLine))
	switch {
	case err != nil:
		return 0, err
	case res.StatusCode == http.StatusConflict:
		return 0, errStale
	case res.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("the resource answered %s", res.Status)
	case r.Do != "read":
		return 0, nil
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

func randomToken() string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the system has no source of randomness
	}
	return hex.EncodeToString(b)
}
