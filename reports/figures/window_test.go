package figures

import (
	"testing"
	"time"

	"lockbench/histories"
)

// TestWindow checks that operations that ended within the window count in full. A wait that lasts beyond the window is cut off.
//
//	window               10 ........................ 40
//	client 0  1-2 ... 8                                      (before)
//	client 0       call 9, granted 12 ... 20
//	client 1            call 5, due 4 ....... granted 25 ... 45
//	client 2               call 30 .......................... granted 50 ... 60
func TestWindow(t *testing.T) {
	var s script
	s.acquire(0, 1, "k", 1*ms, 2*ms)
	s.acquire(1, 2, "k", 5*ms, 25*ms).Due = 4 * ms
	s.release(0, 1, "k", 8*ms, 9*ms)
	s.acquire(0, 3, "k", 9*ms, 12*ms)
	s.release(0, 3, "k", 20*ms, 21*ms)
	s.acquire(2, 4, "k", 30*ms, 50*ms)
	s.release(1, 2, "k", 45*ms, 46*ms)
	s.release(2, 4, "k", 60*ms, 61*ms)
	h := histories.Header{Clients: 3}
	got, err := Of(&h, histories.Ops(s.ops), Window{From: 10 * ms, To: 40 * ms})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sections != 1 || got.Grants != 2 || got.OwnerChanges != 1 || got.Held != 8*ms || got.Seconds() != 0.03 {
		t.Errorf("sections %d, grants %d, changes %d, held %v, %v s; want 1, 2, 1, 8ms, 0.03", got.Sections, got.Grants, got.OwnerChanges, got.Held, got.Seconds())
	}
	if got.PerClient[0] != 1 || got.PerClient[1] != 0 || got.PerClient[2] != 0 {
		t.Errorf("per client %v", got.PerClient)
	}
	got.only(t, Contended, 3*ms, 21*ms)
	got.only(t, HoldTimes, 8*ms)
	if want := (Wait{int64(21 * ms), Granted}); got.Longest != want {
		t.Errorf("longest %+v, want %+v", got.Longest, want)
	}
	if got.Bypassed != 1 {
		t.Errorf("bypassed %d times, want once: client 0 called later and was granted first", got.Bypassed)
	}
	cut, err := Of(&h, histories.Ops(s.ops), Window{From: 26 * ms, To: 44 * ms})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Wait{int64(14 * ms), CutOff}); cut.Longest != want || !cut.Longest.Censored() {
		t.Errorf("longest %+v, want %+v", cut.Longest, want)
	}
	if c := cut.Waits.clients[2]; cut.Waits.n != 1 || c == nil || time.Duration(c.censored.Max())/ms != 14 {
		t.Errorf("contended waits %+v, want that of client 2 only, which was cut off", cut.Waits)
	}
	late, err := Of(&h, histories.Ops(s.ops), Window{From: 0, To: 10 * ms})
	if err != nil {
		t.Fatal(err)
	}
	if most := time.Duration(late.Samples[Late].Max()); !near(float64(most), float64(ms)) { // the acquire of client 1 was due at 4 ms and called at 5 ms
		t.Errorf("late by %v at most, want 1 ms", most)
	}
}
