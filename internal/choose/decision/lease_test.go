package decision

import (
	"encoding/json"
	"lockbench/reports/selection"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func leaseNeeds() selection.Needs {
	return selection.Needs{Hold: times(50*time.Millisecond, 400*time.Millisecond, time.Second),
		Pauses:   selection.Pauses{PerHour: 20, P50: 20 * time.Millisecond, P99: 300 * time.Millisecond, Longest: 1500 * time.Millisecond},
		Recovery: 10 * time.Second, Clients: 8}
}

func leaseInputs(l selection.Lease) LeaseInputs {
	return LeaseInputs{Needs: leaseNeeds(), Option: selection.Option{Name: "a-lock", Kind: selection.ALock, Lease: l},
		Acquire: Recorded{Sample: []time.Duration{time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond}, Where: "8 clients", Evidence: []string{"M1"}}}
}

// TestAdvisedLease checks that the advised lease is the shortest one that is longer than every pause. It also checks that the
// lease expires in time if the holder dies.
func TestAdvisedLease(t *testing.T) {
	for _, c := range []struct {
		name   string
		lease  selection.Lease
		change func(*LeaseInputs)
		want   time.Duration
		needed time.Duration // expected shortest lease that prevents overlapping holds, rounded to 10 ms; 0: not checked
	}{
		{"work and pause fit into three seconds", selection.Fixed, nil, 3 * time.Second, 2550 * time.Millisecond},
		{"two thirds of a renewed lease are left", selection.Renewed, nil, 3 * time.Second, 2340 * time.Millisecond},
		{"a longer pause", selection.Fixed, func(in *LeaseInputs) { in.Needs.Pauses.Longest = 990 * time.Millisecond }, 3 * time.Second, 0},
		{"a slightly shorter pause", selection.Fixed, func(in *LeaseInputs) { in.Needs.Pauses.Longest = 950 * time.Millisecond }, 2 * time.Second, 0},
		{"renewed during long work", selection.Renewed, func(in *LeaseInputs) { in.Needs.Hold = times(time.Minute, time.Hour, 5*time.Hour) }, 3 * time.Second, 0},
		{"the lock's own shortest", selection.Renewed, func(in *LeaseInputs) { in.Shortest = 6 * time.Second }, 7 * time.Second, 0},
		{"no limit of recovery", selection.Fixed, func(in *LeaseInputs) { in.Needs.Recovery = 0 }, 3 * time.Second, 0},
		{"recovery too slow", selection.Fixed, func(in *LeaseInputs) { in.Needs.Recovery = 2 * time.Second }, 0, 0},
		{"too slow with the hand-off", selection.Fixed, func(in *LeaseInputs) {
			in.Needs.Recovery, in.HandOff.Sample = 3*time.Second, []time.Duration{time.Millisecond}
		}, 0, 0},
		{"work longer than any lease", selection.Fixed, func(in *LeaseInputs) { in.Needs.Hold.Max = time.Hour }, 0, 3637*time.Second + 900*time.Millisecond},
	} {
		in := leaseInputs(c.lease)
		if c.change != nil {
			c.change(&in)
		}
		a := AdviseLease(in)
		if a.AdvisedNS != int64(c.want) {
			t.Errorf("%s: %v, want %v", c.name, time.Duration(a.AdvisedNS), c.want)
		}
		if c.needed != 0 && time.Duration(a.NeededNS).Round(10*time.Millisecond) != c.needed {
			t.Errorf("%s: %v is needed, want %v", c.name, time.Duration(a.NeededNS), c.needed)
		}
	}
}

// TestLeaseCurve checks the predictions for leases of increasing length. Overlaps must not become more probable, and
// recovery must not become faster. No single pause may exceed the advised lease.
func TestLeaseCurve(t *testing.T) {
	for _, l := range []selection.Lease{selection.Fixed, selection.Renewed} {
		a := AdviseLease(leaseInputs(l))
		if len(a.Curve) < 8 || a.Curve[0].TTLNS > int64(100*time.Millisecond) || a.Curve[0].GivenPause == 0 {
			t.Fatalf("%s: %+v", l, a.Curve)
		}
		for i, p := range a.Curve[1:] {
			before := a.Curve[i]
			if p.TTLNS <= before.TTLNS || p.Overlap > before.Overlap || p.GivenPause > before.GivenPause || p.RecoveryMeanNS < before.RecoveryMeanNS {
				t.Errorf("%s: %+v after %+v", l, p, before)
			}
			if p.RecoveryMeanNS > p.RecoveryMaxNS {
				t.Errorf("%s: the mean exceeds the maximum: %+v", l, p)
			}
		}
		advised := a.Curve[slices.IndexFunc(a.Curve, func(p selection.LeasePoint) bool { return p.TTLNS == a.AdvisedNS })]
		if advised.GivenPause != 0 {
			t.Errorf("%s: a pause outlasts the advised lease: %+v", l, advised)
		}
		if l == selection.Renewed && advised.Overlap != 0 {
			t.Errorf("several pauses outlast the advised lease: %+v", advised)
		}
	}
}

// TestLeaseInputs checks that AdviseLease lists the inputs of its prediction, and the kind of evidence for each input.
func TestLeaseInputs(t *testing.T) {
	in := leaseInputs(selection.Fixed)
	in.HandOff.Sample = []time.Duration{time.Millisecond}
	a := AdviseLease(in)
	want := []selection.LeaseInput{
		{Name: "hold", Tag: selection.Assumed, Times: in.Needs.Hold},
		{Name: "pauses", Tag: selection.Assumed, Times: times(20*time.Millisecond, 300*time.Millisecond, 1500*time.Millisecond)},
		{Name: "acquire", Tag: selection.Measured, Times: a.Inputs[2].Times, N: 3, Where: "8 clients", Evidence: []string{"M1"}},
		{Name: "hand-off", Tag: selection.Measured, Times: times(time.Millisecond, time.Millisecond, time.Millisecond), N: 1},
	}
	if !reflect.DeepEqual(a.Inputs, want) || a.Inputs[2].Times.Max != 20*time.Millisecond {
		t.Errorf("%+v, want %+v", a.Inputs, want)
	}
	in.Acquire, in.HandOff, in.Needs.Pauses.Measured, in.Needs.HoldRecorded = Recorded{}, Recorded{}, "on this machine.", "of 3 histories"
	a = AdviseLease(in)
	if a.Inputs[0].Tag != selection.Measured || a.Inputs[1].Tag != selection.Measured || a.Inputs[1].Where != "on this machine." ||
		a.Inputs[2].Tag != selection.Unknown || a.Inputs[3].Tag != selection.Unknown {
		t.Errorf("%+v", a.Inputs)
	}
}

// TestNoLeaseToChoose checks that AdviseLease advises no lease for a lock without a lease. AdviseLease must return nil for a
// candidate that is not a lock.
func TestNoLeaseToChoose(t *testing.T) {
	for _, lease := range []selection.Lease{selection.Connection, selection.NoLease} {
		a := AdviseLease(leaseInputs(lease))
		if a.AdvisedNS != 0 || a.NeededNS != 0 || len(a.Curve) != 0 || a.Lease != lease {
			t.Errorf("%s: %+v", lease, a)
		}
	}
	in := leaseInputs(selection.Fixed)
	in.Option.Kind = selection.NoLock
	if AdviseLease(in) != nil {
		t.Error("advice for an option that is not a lock")
	}
}

// TestLeaseSame checks that the same requirements always give the same JSON.
func TestLeaseSame(t *testing.T) {
	one, err1 := json.Marshal(AdviseLease(leaseInputs(selection.Fixed)).LeaseAdvice)
	two, err2 := json.Marshal(AdviseLease(leaseInputs(selection.Fixed)).LeaseAdvice)
	if err1 != nil || err2 != nil || string(one) != string(two) || strings.Contains(string(one), "null") {
		t.Errorf("%v %v\n%s\n%s", err1, err2, one, two)
	}
}
