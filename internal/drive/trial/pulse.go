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
	markEvery = 500 * time.Millisecond // twice as often as the format asks, so that one late beat does no harm
)

// whilePulsed calls do while the pulse drains the recorder, and closes that. An error of the recorder cancels do.
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

// pulse keeps a recorder drained and marked while a trial runs, and watches the harness itself: a beat
// that comes late was a time in which nothing here ran, and no client either. It returns the first error
// of the recorder, when it has one or when ctx ends.
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

// stalls watches the processes of a trial for times in which they did not run though no fault had stopped them:
// a machine that is too busy makes a holder as late as a fault does, and must not be taken for one.
type stalls struct {
	ended sync.WaitGroup
	stop  context.CancelFunc

	mu      sync.Mutex
	longest time.Duration
	process int
	excused map[int]time.Time // until when a fault has stopped a process
}

const (
	stallBeat = 40 * time.Millisecond // the interval at which a process is asked whether it runs
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
			return // it is no more, or the trial is over
		}
		s.answered(i, asked, time.Now())
	}
}

// answered takes an answer in. What a fault has stopped meanwhile is excused.
func (s *stalls) answered(i int, asked, answered time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took := answered.Sub(asked); took > s.longest && !s.excused[i].After(asked) {
		s.longest, s.process = took, i
	}
}

func (s *stalls) excuse(i int, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.excused[i] = time.Now()
	if stopped {
		s.excused[i] = time.Now().Add(unbounded)
	}
}

// end returns why the trial does not count; "": it does.
func (s *stalls) end(most time.Duration) (void string) {
	s.stop()
	s.ended.Wait()
	if s.longest <= most {
		return ""
	}
	return fmt.Sprintf("process %d was paused for %s by no fault, and a holder may be at most %s late",
		s.process, s.longest.Round(time.Millisecond), most)
}
