package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/workers"
)

const (
	beat      = 10 * time.Millisecond
	markEvery = 500 * time.Millisecond // half of the longest interval between marks that the history format allows; a late mark is then still valid
)

// whilePulsed calls do while the function pulse drains the recorder in another goroutine. It then closes the recorder.
// If the recorder fails, whilePulsed cancels the context of do.
func whilePulsed(ctx context.Context, rec *histories.Recorder, do func(context.Context) error) error {
	running, stop := context.WithCancelCause(ctx)
	beating, still := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 1)
	go func() {
		err := pulse(beating, rec)
		stop(err)
		failed <- err
	}()
	done := do(running)
	still()
	err := errors.Join(<-failed, done)
	if closeErr := rec.Close(); err == nil {
		err = closeErr
	}
	return err
}

// pulse drains the recorder and writes marks until ctx is done. A late tick shows that this process was stalled. Each
// mark records the longest stall since the previous mark. pulse returns the first error of the recorder.
func pulse(ctx context.Context, rec *histories.Recorder) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last, marked, stall := rec.Since(), rec.Since(), time.Duration(0)
	for {
		var err error
		over := false
		select {
		case <-ctx.Done():
			over = true
		case <-rec.Full():
			err = rec.Drain()
		case <-ticker.C:
		}
		now := rec.Since()
		stall, last = max(stall, now-last-beat), now
		if err == nil && (over || now-marked >= markEvery) {
			err = rec.Mark(stall)
			marked, stall = now, 0
		}
		if err != nil || over {
			return err
		}
	}
}

// stalls measures the longest time for which a worker process was stalled without a fault. A busy machine can delay a
// holder just as a fault does. So a trial with a long stall is discarded.
type stalls struct {
	ended sync.WaitGroup
	stop  context.CancelFunc

	mu      sync.Mutex
	longest time.Duration
	process int
	other   string            // a reason to discard the trial that is not a stall; "": none
	excused map[int]time.Time // end of the last pause that a fault caused, by process; far in the future during a pause
}

const (
	stallBeat = 40 * time.Millisecond // interval between two probes of a process
	unbounded = 365 * 24 * time.Hour
)

func watchStalls(processes []*workers.Process) *stalls {
	ctx, stop := context.WithCancel(context.Background())
	s := &stalls{stop: stop, excused: map[int]time.Time{}}
	for i, p := range processes {
		s.ended.Go(func() { s.watch(ctx, i, p) })
	}
	return s
}

func (s *stalls) watch(ctx context.Context, i int, p *workers.Process) {
	tick := time.NewTicker(stallBeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		asked := time.Now()
		if p.Running(ctx) != nil {
			return // the process has ended, or ctx is done
		}
		s.answered(i, asked, time.Now())
	}
}

// answered records how long a process took to answer a probe. It ignores an answer if a fault paused the process after
// the probe was sent.
func (s *stalls) answered(i int, asked, answered time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took := answered.Sub(asked); took > s.longest && !s.excused[i].After(asked) {
		s.longest, s.process = took, i
	}
}

// discard discards the trial for a reason other than a stalled process.
func (s *stalls) discard(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = why
}

func (s *stalls) excuse(i int, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.excused[i] = time.Now()
	if stopped {
		s.excused[i] = time.Now().Add(unbounded)
	}
}

// end stops the probes. If the longest stall was longer than most, end returns a reason to discard the trial. Otherwise
// it returns "".
func (s *stalls) end(most time.Duration) (why string) {
	s.stop()
	s.ended.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other != "" || s.longest <= most {
		return s.other
	}
	return fmt.Sprintf("process %d was paused for %s by no fault, and a holder may be at most %s late",
		s.process, s.longest.Round(time.Millisecond), most)
}
