package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockbench/internal/drive/workers"
)

// stalls watches the processes of a trial for times in which they did not run though no fault had stopped them:
// a machine that is too busy makes a holder as late as a fault does, and must not be taken for one.
type stalls struct {
	ended sync.WaitGroup
	stop  context.CancelFunc

	mu      sync.Mutex
	longest time.Duration
	process int
	paused  map[int]time.Time // since when a fault has stopped it
	resumed map[int]time.Time
}

// stallBeat is how often a process is asked whether it runs.
const stallBeat = 40 * time.Millisecond

func watchStalls(processes []*workers.Process) *stalls {
	ctx, stop := context.WithCancel(context.Background())
	s := &stalls{stop: stop, paused: map[int]time.Time{}, resumed: map[int]time.Time{}}
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
	_, stopped := s.paused[i]
	if stopped || s.resumed[i].After(asked) {
		return
	}
	if took := answered.Sub(asked); took > s.longest {
		s.longest, s.process = took, i
	}
}

func (s *stalls) excuse(i int, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stopped {
		s.paused[i] = time.Now()
		return
	}
	delete(s.paused, i)
	s.resumed[i] = time.Now()
}

// end says why the trial does not count: "" if it does.
func (s *stalls) end(most time.Duration) (void string) {
	s.stop()
	s.ended.Wait()
	if s.longest <= most {
		return ""
	}
	return fmt.Sprintf("process %d stood still for %s though nothing had stopped it, and %s is what a holder may be late",
		s.process, s.longest.Round(time.Millisecond), most)
}
