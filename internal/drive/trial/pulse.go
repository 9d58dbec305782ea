package trial

import (
	"context"
	"errors"
	"time"

	"lockbench/histories"
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
