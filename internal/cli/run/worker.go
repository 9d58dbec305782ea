package run

import (
	"context"
	"fmt"
	"time"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
)

// describeWorker returns the lock of the user's worker, and adapts the trials to a slow runtime.
func (f *flags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own, pace, err := f.worker.Describe(ctx, choice.First{Servers: f.servers, Params: f.lockParams, TTL: f.params.TTL})
	if err == nil {
		f.adapt(&own, pace)
	}
	return own, err
}

// adapt changes the settings of trials if the language runtime of the worker is slow. Trials then run one at a time,
// and trials with a fault use longer leases. Otherwise trials could be discarded, because a slow process delays a
// holder too long. Values that the user set with flags are kept.
func (f *flags) adapt(own *impls.Impl, m choice.Pace) {
	if !m.Slow() {
		return
	}
	if f.jobs == 0 {
		f.jobs = 1
	}
	if f.faultTTL == 0 {
		f.faultTTL = m.Lease(own)
	}
	f.notes = append(f.notes, fmt.Sprintf("%s started in %v and answers a ping in %v: --jobs %d, and --ttl %v under faults",
		own.Name, m.Start.Round(100*time.Millisecond), m.Ping.Round(time.Millisecond), f.jobs, f.faultTTL))
}

func expectations(all []worker.Expectation) (into []impls.Expectation, err error) {
	for _, e := range all {
		one, err := e.OfLock()
		if err != nil {
			return nil, err
		}
		into = append(into, one)
	}
	return into, nil
}
