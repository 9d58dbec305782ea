package decision

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func leaseNeeds() Needs {
	return Needs{Hold: Times{50 * time.Millisecond, 400 * time.Millisecond, time.Second},
		Pauses:   Pauses{PerHour: 20, P50: 20 * time.Millisecond, P99: 300 * time.Millisecond, Longest: 1500 * time.Millisecond},
		Recovery: 10 * time.Second, Clients: 8}
}

func leaseInputs(l Lease) LeaseInputs {
	return LeaseInputs{Needs: leaseNeeds(), Option: Option{Name: "a-lock", Kind: ALock, Lease: l},
		Acquire: Recorded{Sample: []time.Duration{time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond}, Where: "8 clients", Evidence: []string{"M1"}}}
}

// TestAdvisedLease: the shortest lease that no pause outlasts, and whose recovery is soon enough.
func TestAdvisedLease(t *testing.T) {
	for _, c := range []struct {
		name   string
		lease  Lease
		change func(*LeaseInputs)
		want   time.Duration
		says   []string
	}{
		{"work and pause fit into three seconds", Fixed, nil, 3 * time.Second,
			[]string{"Ask a-lock for a lease of 3 s", "work of 1 s", "pause ever seen of 1.5 s", "20 pauses an hour", "within 3 s", "a lower bound"}},
		{"two thirds are what is left", Renewed, nil, 3 * time.Second, []string{"a lease of 3 s", "and its renewal due. A hold"}},
		{"not work alone", Fixed, func(in *LeaseInputs) { in.Needs.Pauses.Longest = 990 * time.Millisecond }, 3 * time.Second, nil},
		{"but a little less", Fixed, func(in *LeaseInputs) { in.Needs.Pauses.Longest = 950 * time.Millisecond }, 2 * time.Second, nil},
		{"however long the work", Renewed, func(in *LeaseInputs) { in.Needs.Hold = Times{time.Minute, time.Hour, 5 * time.Hour} }, 3 * time.Second, nil},
		{"recorded work goes before what is needed", Fixed, func(in *LeaseInputs) { in.Hold.Sample = []time.Duration{4 * time.Second} }, 7 * time.Second, nil},
		{"the lock's own shortest", Renewed, func(in *LeaseInputs) { in.Shortest = 6 * time.Second }, 7 * time.Second, nil},
		{"whenever", Fixed, func(in *LeaseInputs) { in.Needs.Recovery = 0 }, 3 * time.Second, nil},
		{"too slow", Fixed, func(in *LeaseInputs) { in.Needs.Recovery = 2 * time.Second }, 0,
			[]string{"No lease of a-lock", "at least 3 s", "within 2 s", "pauses and work become shorter"}},
		{"too slow with the hand-off", Fixed, func(in *LeaseInputs) {
			in.Needs.Recovery, in.HandOff.Sample = 3*time.Second, []time.Duration{time.Millisecond}
		}, 0, []string{"within 3 s", "No lease"}},
		{"longer than the lock can", Renewed, func(in *LeaseInputs) { in.Longest = 2 * time.Second }, 0, []string{"renewal due, asks for one of at least 2.34 s", "that is looked at is 2 s"}},
		{"longer than any", Fixed, func(in *LeaseInputs) { in.Needs.Hold.Max = time.Hour }, 0, []string{"at least 60.6 min", "is 50 min"}},
	} {
		in := leaseInputs(c.lease)
		if c.change != nil {
			c.change(&in)
		}
		a := AdviseLease(in)
		if a.AdvisedNS != int64(c.want) {
			t.Errorf("%s: %v, want %v: %s", c.name, time.Duration(a.AdvisedNS), c.want, a.Sentence)
		}
		for _, s := range c.says {
			if !strings.Contains(a.Sentence, s) {
				t.Errorf("%s: %q does not say %q", c.name, a.Sentence, s)
			}
		}
	}
}

// TestLeaseCurve: a longer lease is doubled no more often, and recovers no sooner; and the advised one is doubled by no
// single pause.
func TestLeaseCurve(t *testing.T) {
	for _, l := range []Lease{Fixed, Renewed} {
		a := AdviseLease(leaseInputs(l))
		if len(a.Curve) < 8 || a.Curve[0].TTLNS > int64(100*time.Millisecond) || a.Curve[0].GivenPause == 0 {
			t.Fatalf("%s: %+v", l, a.Curve)
		}
		for i, p := range a.Curve[1:] {
			before := a.Curve[i]
			if p.TTLNS <= before.TTLNS || p.Double > before.Double || p.GivenPause > before.GivenPause || p.RecoveryMeanNS < before.RecoveryMeanNS {
				t.Errorf("%s: %+v after %+v", l, p, before)
			}
			if p.RecoveryMeanNS > p.RecoveryMaxNS {
				t.Errorf("%s: the mean is over the most: %+v", l, p)
			}
		}
		advised := a.Curve[slices.IndexFunc(a.Curve, func(p LeasePoint) bool { return p.TTLNS == a.AdvisedNS })]
		if advised.GivenPause != 0 {
			t.Errorf("%s: a pause doubles a hold of the advised lease: %+v", l, advised)
		}
		if l == Renewed && advised.Double != 0 {
			t.Errorf("nor do several: %+v", advised)
		}
	}
}

// TestLeaseInputsSaid: what the curve is made from is said, and what it rests on.
func TestLeaseInputsSaid(t *testing.T) {
	in := leaseInputs(Fixed)
	in.Needs.Assumed = []string{"pauses"}
	in.HandOff.Sample = []time.Duration{time.Millisecond}
	a := AdviseLease(in)
	var tags []Tag
	for _, s := range a.Inputs {
		tags = append(tags, s.Tag)
	}
	if want := []Tag{Assumed, Assumed, Measured, Measured, Assumed}; !slices.Equal(tags, want) {
		t.Errorf("%v, want %v", tags, want)
	}
	for i, want := range []string{"takes 50 ms at the median, 400 ms at the 99th percentile and 1 s at most, as was stated",
		"20 times an hour, for 20 ms at the median, 300 ms at the 99th percentile and 1.5 s at most, as is assumed where nobody says",
		"20 ms at most in 3 recorded cases (8 clients)", "in 1 recorded cases", "somebody always waits"} {
		if !strings.Contains(a.Inputs[i].Text, want) {
			t.Errorf("%q does not say %q", a.Inputs[i].Text, want)
		}
	}
	if !slices.Equal(a.Inputs[2].Evidence, []string{"M1"}) {
		t.Errorf("the acquires' evidence: %v", a.Inputs[2].Evidence)
	}
	in.Acquire, in.HandOff, in.Needs.Pauses.Measured = Recorded{}, Recorded{}, "on this machine."
	in.Hold.Sample = []time.Duration{time.Second}
	a = AdviseLease(in)
	if a.Inputs[0].Tag != Measured || a.Inputs[1].Tag != Measured || !strings.HasSuffix(a.Inputs[1].Text, "at most: on this machine.") ||
		a.Inputs[2].Tag != Unknown || a.Inputs[3].Tag != Unknown {
		t.Errorf("%+v", a.Inputs)
	}
}

// TestNoLeaseToChoose: what does not end after a time has no curve, and what is no lock nothing at all.
func TestNoLeaseToChoose(t *testing.T) {
	for lease, want := range map[Lease]string{Connection: "as long as the connection", NoLease: "nothing ends a hold"} {
		a := AdviseLease(leaseInputs(lease))
		if a.AdvisedNS != 0 || len(a.Curve) != 0 || !strings.Contains(a.Sentence, want) {
			t.Errorf("%s: %+v", lease, a)
		}
	}
	in := leaseInputs(Fixed)
	in.Option.Kind = NoLock
	if AdviseLease(in) != nil {
		t.Error("there is a lease of what is no lock")
	}
}

// TestLeaseSame: the same needs give the same bytes.
func TestLeaseSame(t *testing.T) {
	one, err1 := json.Marshal(AdviseLease(leaseInputs(Fixed)))
	two, err2 := json.Marshal(AdviseLease(leaseInputs(Fixed)))
	if err1 != nil || err2 != nil || string(one) != string(two) || strings.Contains(string(one), "null") {
		t.Errorf("%v %v\n%s\n%s", err1, err2, one, two)
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 ns", 1500 * time.Millisecond: "1.5 s", 90 * time.Second: "90 s", 2*time.Minute + time.Second: "2.02 min",
		time.Hour: "60 min", 1234 * time.Microsecond: "1.23 ms", 3000 * time.Second: "50 min", 100 * time.Second: "100 s"} {
		if got := Lasting(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	for p, want := range map[float64]string{0: "0", 1: "100 %", 0.125: "12 %", 0.0012: "0.12 %", 0.00012: "1 in 8300"} {
		if got := share(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}
