package explore

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/workloads"
)

// BenchmarkTrial runs and judges simulated trials, with the settings of explore's child processes. It reports virtual
// seconds per second of processor time.
func BenchmarkTrial(b *testing.B) {
	for _, lock := range []string{"setnx", "set-px", "set-px-lua", "redisson", "redlock", "fenced"} {
		b.Run(lock, func(b *testing.B) { benchmarkTrial(b, lock) })
	}
}

func benchmarkTrial(b *testing.B, lock string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // use the same garbage collection setting as explore's child processes
	var virtual time.Duration
	before := processorTime(b)
	for seed := range b.N {
		r, err := usualCase(lock, uint64(seed)).Run()
		if err != nil {
			b.Fatal(err)
		}
		virtual += r.Verdict.Until
	}
	b.ReportMetric(virtual.Seconds()/(processorTime(b)-before).Seconds(), "virtual-s/cpu-s")
	b.ReportMetric(virtual.Seconds()/float64(b.N), "virtual-s/op")
}

// usualCase returns a typical case: three to five clients, each in a separate process.
func usualCase(lock string, seed uint64) Case {
	p := workloads.Defaults()
	p.Clients = 3 + int(seed%3)
	p.Processes = p.Clients
	p.TTL, p.Hold, p.Think = 800*time.Millisecond, time.Duration(10+seed*110%551)*time.Millisecond, 20*time.Millisecond
	p.Duration, p.Seed = 6*time.Second, seed
	return Case{Lock: lock, Workload: "counter", Params: p, LockParams: map[string]string{"wait": "backoff"}, Plan: faults.Plan{}}
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
