package workloads

import (
	"slices"
	"testing"
	"time"
)

// TestParts checks that the schedules of several machines together are the schedule of one machine.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, arrivals := range []Arrivals{Constant, Poisson, Burst} {
		p := Defaults()
		p.Arrivals, p.Rate, p.Seed = arrivals, 1000, 7
		whole := p.schedule(time.Second)
		var want []time.Duration
		for range 300 {
			want = append(want, whole.next())
		}
		var got []time.Duration
		for i := range 3 {
			p.Part = Part{Index: i, Of: 3}
			s := p.schedule(time.Second)
			for range 100 {
				got = append(got, s.next())
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: three machines begin at %v..., one at %v...", arrivals, got[:5], want[:5])
		}
	}
}

// TestOwns checks that each number belongs to one part.
func TestOwns(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		owners := 0
		for i := range 3 {
			if (Part{i, 3}).Owns(n) {
				owners++
			}
		}
		if owners != 1 || !(Part{}).Owns(n) {
			t.Errorf("%d belongs to %d parts", n, owners)
		}
	}
}
