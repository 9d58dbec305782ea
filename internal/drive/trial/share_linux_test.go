package trial

import (
	"io"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// BenchmarkRecordingShare measures the cost of encoding and compressing histories, as a share of all processor time. It
// measures the most expensive case: the lock set-px-lua on a real server, with many keys, no hold time and no think time.
// The goal is at most 2 %.
func BenchmarkRecordingShare(b *testing.B) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Skip("redis-server is not on the PATH: apt install redis-server")
	}
	all := catalog.OnRedis()
	lua := all[slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == "set-px-lua" })]
	t := newTrial(Setting{Run: "bench", Servers: servers.Local, Params: workloads.Defaults()}, Cell{Lock: lua}, "", nil)
	t.Params.Keys, t.Params.Spread = 4096, workloads.Uniform
	t.Params.Hold, t.Params.Think, t.Params.Duration = 0, 0, 500*time.Millisecond
	if err := t.up(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer t.down()
	var grants, cost float64
	for b.Loop() {
		n, encoding := t.measure(b)
		grants += n
		cost += encoding.Seconds() / t.Params.Duration.Seconds()
	}
	b.ReportMetric(grants/float64(b.N)/t.Params.Duration.Seconds(), "pairs/s")
	b.ReportMetric(100*cost/float64(b.N)/float64(runtime.NumCPU()), "%-of-cpu")
}

// measure runs the clients once. It returns the number of grants and the processor time used to drain the recorder.
func (t *trial) measure(b *testing.B) (float64, time.Duration) {
	rec, err := histories.NewRecorder(io.Discard, histories.Header{}, t.Params.Logs())
	if err != nil {
		b.Fatal(err)
	}
	var granted atomic.Int64
	d := &workloads.Drive{Workload: contend(), Params: t.Params, Processes: t.processes, Recorder: rec, Granted: &granted}
	done := make(chan struct{})
	go func() { d.Run(b.Context()); close(done) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var spent time.Duration
	for {
		select {
		case <-done:
			return float64(granted.Load()), spent
		case <-rec.Full():
			start := threadTime(b)
			rec.Drain()
			spent += threadTime(b) - start
		}
	}
}

// threadTime returns the processor time that the current thread has used.
func threadTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
