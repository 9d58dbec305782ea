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

// TestEveryLockInVirtualTime runs each lock for ten seconds of virtual time. The lock must be granted and leave no
// goroutines. A repeated trial must give the same history. The test fails for a lock that uses a network, a clock or
// randomness from outside its Env.
func TestEveryLockInVirtualTime(t *testing.T) {
	for _, impl := range catalog.OnRedis() {
		t.Run(impl.Name, func(t *testing.T) {
			if impl.Name == "set-px-wait" {
				t.Skip("the emulator has no replication, and its WAIT does not wait")
			}
			p := workloads.Defaults()
			p.Duration = 10 * time.Second
			enough := 1000
			if impl.Name == "shared-token" { // this lock does not release its keys; they remain until they expire
				enough = 2
			}
			if raced { // the race detector slows the test down ten times
				p.Duration, enough = 2*time.Second, enough/5
			}
			first := driveTwice(t, impl, p)
			if n := strings.Count(first, `"outcome":"ok"`); n < enough {
				t.Errorf("only %d operations succeeded in %v of virtual time", n, p.Duration)
			}
			if strings.Contains(first, `"outcome":"unknown"`) {
				t.Error("an operation without a fault has an unknown outcome")
			}
		})
	}
}

// TestRenewalInVirtualTime checks locks that renew their leases, with holds longer than the lease.
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
			for op := range strings.Lines(first) { // include operations that fail at the end of the trial
				if strings.Contains(op, `"kind":"release","outcome":"refused"`) {
					t.Error("a release was refused: the lease expired during the hold")
				}
			}
		})
	}
}

// driveTwice runs a lock twice, checks that both histories are equal, and returns one. The race detector makes this
// check stricter, because it randomizes the order of goroutines.
func driveTwice(t *testing.T, impl impls.Impl, p workloads.Params) string {
	t.Helper()
	first := driveVirtually(t, impl, p)
	if second := driveVirtually(t, impl, p); first != second {
		t.Errorf("the histories of two runs differ: %d and %d bytes", len(first), len(second))
	}
	return first
}

// driveVirtually runs a trial of a lock in virtual time. It returns the recorded history, one line per operation.
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
		if raced { // the trial is short with the race detector; all clients may be waiting for a back-off delay when it ends
			late += 4 * impl.BackOff
		}
		if impl.Name == "shared-token" {
			late += p.TTL + time.Second // wait until the remaining keys have expired
		}
		if took := time.Since(start); took < p.Duration || took > p.Duration+late+time.Duration(p.Clients)*p.Hold {
			t.Errorf("the trial took %v of virtual time", took)
		}
		for _, process := range d.Processes {
			if err := process.Lock.Close(); err != nil {
				t.Error(err)
			}
		}
		n.Close()
		time.Sleep(10 * time.Second) // wait for background goroutines of clients to end
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		text = lines(t, &file)
	})
	return string(text)
}

// lines returns the completed operations of a history in order, one operation per line.
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
