package figures

import (
	"testing"
	"time"
)

// TestWaits compares percentiles with known ones.
func TestWaits(t *testing.T) {
	const ms = time.Millisecond
	in := func(w *Waits, client int32, granted bool, waits ...time.Duration) {
		for _, wait := range waits {
			w.record(client, wait*ms, granted)
		}
	}
	var drug Waits // remission in weeks with 6-MP (Freireich and others, 1963), whose Kaplan-Meier median is 23
	in(&drug, 0, true, 6, 6, 6, 7, 10, 13, 16, 22, 23)
	in(&drug, 0, false, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)

	var fair, starving, one Waits
	for client := range int32(16) {
		for i := range 100 {
			in(&fair, client, true, time.Duration(i+1))
		}
		if client < 2 {
			for range 1000 {
				in(&starving, client, true, 1)
			}
		} else {
			in(&starving, client, false, 4000)
		}
		if client > 0 {
			in(&one, client, true, 20)
			in(&one, client, true, 20)
		} else {
			in(&one, client, false, 4000)
		}
	}
	for _, c := range []struct {
		name string
		of   *Waits
		rank float64
		want time.Duration // 0: too few waits
	}{
		{"censored", &drug, 0.5, 23},
		{"nothing censored", &fair, 0.5, 50},
		{"nothing censored, tail", &fair, 0.99, 99},
		{"two of 16 clients are granted again and again", &starving, 0.5, 4000},
		{"one of 16 clients starves", &one, 0.5, 20},
		{"too few for the tail", &one, 0.99, 0},
		{"none", &Waits{}, 0.5, 0},
	} {
		ns, ok := c.of.Percentile(c.rank)
		if got := time.Duration(ns); ok != (c.want != 0) || ok && (got < c.want*ms || got > c.want*ms*102/100) {
			t.Errorf("%s: the %v percentile is %v, %t, want %v", c.name, c.rank, got, ok, c.want*ms)
		}
	}
}
