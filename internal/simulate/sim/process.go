package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/workloads"
)

// process is a simulated process with clients, a lock, and the resource that the lock protects. While the process is
// paused, its network is stopped, and requests of its clients neither start nor return. After it is killed, every
// request returns workloads.ErrGone.
//
// Limitation: the goroutines and timers of the lock continue during a pause. For example, the lock may refuse a grant as
// too late during the pause; a real process would do so after it. Commands and reports of lost leases are delayed until
// the pause ends.
type process struct {
	*place
	lock     impls.Lock
	resource workloads.Resource
	life     context.Context // cancelled when the process is killed or the trial ends
	end      context.CancelFunc
	stops    bool // whether the fault plan can pause the process
	work     sync.WaitGroup
}

func open(lock impls.Impl, env impls.Env, at *place, resource workloads.Resource, stops bool) (*process, error) {
	p := &process{place: at, resource: resource, stops: stops}
	p.life, p.end = context.WithCancel(context.Background())
	if renewed := env.Renewed; renewed != nil {
		env.Renewed = func(g impls.Grant, sent time.Duration, err error) {
			if p.life.Err() == nil { // ignore reports of a killed process
				renewed(g, sent, err)
			}
		}
	}
	var err error
	p.lock, err = lock.Open(env)
	return p, err
}

// awaitRunning blocks while the process is paused. If the process was killed, it returns ErrGone one nanosecond
// later. The history then contains the kill first.
func (p *process) awaitRunning(ctx context.Context) error {
	err := p.await(ctx)
	if p.life.Err() != nil {
		time.Sleep(time.Nanosecond)
		return workloads.ErrGone
	}
	return err
}

// ask runs a request in the process. If ask returns an error, the request may still have taken effect. For example,
// the process may have been killed during the request.
func ask[T any](ctx context.Context, p *process, do func(context.Context) (T, error)) (T, error) {
	var nothing T
	if err := p.awaitRunning(ctx); err != nil {
		return nothing, err
	}
	living, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	got, err := answer(ctx, p, func() (T, error) { return do(living) })
	if gone := p.awaitRunning(ctx); gone != nil {
		return nothing, gone
	}
	return got, err
}

// lastWord is the maximum wait for a result after the context has ended. See the function answer.
const lastWord = 2 * time.Second

// answer calls do and returns its result. If the context ends first, answer waits for the result for at most lastWord.
// If the process is then paused, it does not wait.
func answer[T any](ctx context.Context, p *process, do func() (T, error)) (T, error) {
	if !p.stops {
		return do()
	}
	done := make(chan struct{})
	var late T
	var err error
	p.work.Go(func() {
		defer close(done)
		late, err = do()
	})
	select {
	case <-done:
		return late, err
	case <-ctx.Done():
	}
	if !p.paused() {
		timer := time.NewTimer(lastWord)
		defer timer.Stop()
		select {
		case <-done:
			return late, err
		case <-timer.C: // do has not returned within lastWord
		}
	}
	var nothing T
	return nothing, ctx.Err()
}

// lossChannel returns a channel that is closed when the hold is lost. During a pause of the process, it is closed at
// the end of the pause.
func (p *process) lossChannel(lost <-chan struct{}) <-chan struct{} {
	if lost == nil || !p.stops {
		return lost
	}
	select {
	case <-lost: // the hold was lost before the grant returned
		return lost
	default:
	}
	told := make(chan struct{})
	p.work.Go(func() {
		select {
		case <-lost:
		case <-p.life.Done():
			return
		}
		if p.awaitRunning(p.life) == nil {
			close(told)
		}
	})
	return told
}

// close ends the process. The lock of the process abandons all holds.
func (p *process) close() error {
	var err error
	if p.life.Err() == nil {
		err = p.lock.Close()
	}
	p.end()
	p.work.Wait()
	return err
}

func (p *process) asWorkload() workloads.Process {
	return workloads.Process{Lock: p.asLock(), Resource: (*reached)(p), Running: p.awaitRunning}
}

// asLock returns a lock that passes each request to the lock of the simulated process. Requests wait while the process
// is paused, and fail after it is killed. If the lock of the process implements impls.Prober or impls.Segmenter, so does
// the returned lock.
func (p *process) asLock() impls.Lock {
	prober, canProbe := p.lock.(impls.Prober)
	if canProbe {
		prober = remote{p}
	}
	splits, _ := p.lock.(impls.Segmenter)
	return impls.With(remote{p}, prober, splits)
}

type remote struct{ p *process }

func (r remote) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	got := make(chan impls.Hold, 1) // receives the grant; without a grant, it is closed
	h, err := ask(ctx, r.p, func(ctx context.Context) (impls.Hold, error) {
		h, err := r.p.lock.Acquire(ctx, req)
		if err == nil {
			got <- h
		}
		close(got)
		return h, err
	})
	switch {
	case err == nil:
		h.Lost = r.p.lossChannel(h.Lost)
	case len(got) > 0 || errors.Is(err, ctx.Err()) || errors.Is(err, workloads.ErrGone):
		r.p.work.Go(func() { r.giveBack(got) })
	}
	return h, err
}

// giveBack releases a grant that is received after its client has stopped waiting. Otherwise the lock would renew it until its process ends.
func (r remote) giveBack(got <-chan impls.Hold) {
	select {
	case late, granted := <-got:
		if granted && r.p.awaitRunning(r.p.life) == nil {
			_ = r.p.lock.Release(r.p.life, late.Grant) // if the release fails, the grant expires
		}
	case <-r.p.life.Done():
	}
}

func (r remote) Release(ctx context.Context, g impls.Grant) error {
	_, err := ask(ctx, r.p, func(ctx context.Context) (any, error) { return nil, r.p.lock.Release(ctx, g) })
	return err
}

// Renew extends a lease. It returns an error if the lock does not support renewal.
func (r remote) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	renewer, ok := r.p.lock.(impls.Renewer)
	if !ok {
		return g, errors.New("the lock does not support Renew")
	}
	return ask(ctx, r.p, func(ctx context.Context) (impls.Grant, error) { return renewer.Renew(ctx, g) })
}

func (r remote) Close() error { return r.p.close() }

func (r remote) Probe(ctx context.Context, key string) (token string, left time.Duration, err error) {
	type found struct {
		token string
		left  time.Duration
	}
	f, err := ask(ctx, r.p, func(ctx context.Context) (f found, err error) {
		f.token, f.left, err = r.p.lock.(impls.Prober).Probe(ctx, key)
		return f, err
	})
	return f.token, f.left, err
}

type reached process

var _ workloads.Resource = (*reached)(nil)

func (r *reached) Read(ctx context.Context, key string, fence int64) (int64, error) {
	return ask(ctx, (*process)(r), func(ctx context.Context) (int64, error) { return r.resource.Read(ctx, key, fence) })
}

func (r *reached) Write(ctx context.Context, key string, value, fence int64) error {
	_, err := ask(ctx, (*process)(r), func(ctx context.Context) (any, error) { return nil, r.resource.Write(ctx, key, value, fence) })
	return err
}

func (r *reached) Append(ctx context.Context, key string, fence int64) error {
	_, err := ask(ctx, (*process)(r), func(ctx context.Context) (any, error) { return nil, r.resource.Append(ctx, key, fence) })
	return err
}

// apart is the interval between the starts of two resumed goroutines. During it, a goroutine can send its data before
// the next one starts.
const apart = 2 * time.Nanosecond

type turnstile struct {
	mu   sync.Mutex
	last time.Time // latest wake-up time that was assigned to a goroutine
}

// next returns how long the caller must sleep. Concurrent callers sleep for different durations and wake up one after
// another.
func (t *turnstile) next() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.last = t.last.Add(apart); t.last.Before(now) {
		t.last = now
	}
	return t.last.Sub(now)
}

type place struct {
	isPaused atomic.Bool // whether the process or server is paused; mu guards changes

	mu    sync.Mutex
	queue []chan struct{} // one channel for each goroutine that waits for the end of the pause; resume closes them in order
}

func (p *place) paused() bool { return p.isPaused.Load() }

func (p *place) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isPaused.Store(true)
}

// resume resumes the process or server. It reports whether there was a pause to end. Waiting goroutines continue in the
// order in which they began to wait, each in a different nanosecond of virtual time.
func (p *place) resume() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused() {
		return false
	}
	p.isPaused.Store(false)
	queue := p.queue
	p.queue = nil
	go func() {
		for _, next := range queue {
			close(next)
			time.Sleep(apart)
		}
	}()
	return true
}

// await waits while the process or server is paused. If the context ends first, await returns the context's error.
func (p *place) await(ctx context.Context) error {
	for {
		p.mu.Lock()
		if !p.paused() {
			p.mu.Unlock()
			return nil
		}
		goesOn := make(chan struct{})
		p.queue = append(p.queue, goesOn)
		p.mu.Unlock()
		select {
		case <-goesOn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
