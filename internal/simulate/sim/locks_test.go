package sim

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/workloads"
)

// TestEveryLockInVirtualTime drives every lock of the table with contend for ten virtual seconds, twice: it
// comes to its end, grants, leaves nothing running, and the same seed records the same history. It keeps
// locks to what Env gives them.
func TestEveryLockInVirtualTime(t *testing.T) {
	for _, impl := range catalog.OnRedis() {
		t.Run(impl.Name, func(t *testing.T) {
			if impl.Name == "set-px-wait" {
				t.Skip("the emulator has no replication, and its WAIT waits for nothing")
			}
			p := workloads.Defaults()
			p.Duration = 10 * time.Second
			enough := 1000
			if impl.Name == "shared-token" { // it leaves its keys to expire
				enough = 2
			}
			if raced { // the detector makes it ten times as slow
				p.Duration, enough = 2*time.Second, enough/5
			}
			first := driveTwice(t, impl, p)
			if n := strings.Count(first, `"outcome":"ok"`); n < enough {
				t.Errorf("only %d operations succeeded in %v of virtual time", n, p.Duration)
			}
			if strings.Contains(first, `"outcome":"unknown"`) {
				t.Error("an operation came to no definite end though nothing went wrong")
			}
		})
	}
}

// TestRenewalInVirtualTime drives the locks that renew with holds that outlast the lease.
func TestRenewalInVirtualTime(t *testing.T) {
	for _, impl := range catalog.OnRedis() {
		if !impl.Renews {
			continue
		}
		t.Run(impl.Name, func(t *testing.T) {
			p := workloads.Defaults()
			p.Duration, p.TTL, p.Hold = 10*time.Second, 60*time.Millisecond, 100*time.Millisecond
			first := driveTwice(t, impl, p)
			if n := strings.Count(first, `"outcome":"ok"`); n < 50 {
				t.Errorf("only %d operations succeeded in %v of virtual time", n, p.Duration)
			}
			for op := range strings.Lines(first) { // those who wait at the end are refused too
				if strings.Contains(op, `"kind":"release","outcome":"refused"`) {
					t.Error("a release was refused: the lease had run out under its holder")
				}
			}
		})
	}
}

// driveTwice drives a lock twice and checks that the same seed records the same history. The race detector shuffles
// goroutines that become ready at one instant, as a busy machine does once in a while: under it this is the sharper test.
func driveTwice(t *testing.T, impl impls.Impl, p workloads.Params) string {
	t.Helper()
	first := driveVirtually(t, impl, p)
	if second := driveVirtually(t, impl, p); first != second {
		t.Errorf("the same seed recorded two histories, of %d and %d bytes", len(first), len(second))
	}
	return first
}

// driveVirtually returns the recorded history, a line per operation.
func driveVirtually(t *testing.T, impl impls.Impl, p workloads.Params) string {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	var text []byte
	nodes := map[string]int{"": 1, "single": 1, "five": 5}
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(nodes[impl.Deployment], p.Processes, latency, 7)
		var file bytes.Buffer
		rec, err := histories.NewRecorder(&file, histories.Header{}, p.Logs())
		if err != nil {
			t.Fatal(err)
		}
		d := &workloads.Drive{Params: p, Recorder: rec, Granted: new(atomic.Int64)}
		for _, w := range workloads.All() {
			if w.Name == "contend" {
				d.Workload = w
			}
		}
		for process := range p.Processes {
			lock, err := impl.Open(impls.Env{Nodes: n.URLs(), Dial: n.Dialer(process), Prefix: "sim:", Process: process,
				Rand: impls.NewRand(7, uint64(process))})
			if err != nil {
				t.Fatal(err)
			}
			d.Processes = append(d.Processes, workloads.Process{Lock: lock})
		}
		start := time.Now()
		d.Run(t.Context())
		late := time.Second
		if raced { // in so short a trial all may still wait at its end, and ask each so often
			late += 4 * impl.BackOff
		}
		if impl.Name == "shared-token" {
			late += p.TTL + time.Second // a key that was left behind is waited for until it expires, or cut off
		}
		if took := time.Since(start); took < p.Duration || took > p.Duration+late+time.Duration(p.Clients)*p.Hold {
			t.Errorf("it took %v of virtual time", took)
		}
		for _, process := range d.Processes {
			if err := process.Lock.Close(); err != nil {
				t.Error(err)
			}
		}
		n.Close()
		time.Sleep(10 * time.Second) // clients notice that their pools are closed
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		text = lines(t, &file)
	})
	return string(text)
}

// lines are the operations of a history in the order in which they stand, without what depends on the
// marks.
func lines(t *testing.T, file io.Reader) []byte {
	t.Helper()
	r, err := histories.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text []byte
	_, err = histories.Replay(r.Next, func(ev histories.Event) error {
		if ev.Return {
			text = append(histories.AppendOp(text, ev.Op), '\n')
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
