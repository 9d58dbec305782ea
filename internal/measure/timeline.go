package measure

import (
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/reports/bench"
)

const (
	mostSlices   = 50
	shortestTime = 10 * time.Millisecond // minimum length of a time slice
	firstEdge    = 8 * time.Microsecond
	edges        = 44 // number of latency ranges; the limits grow by a factor of the square root of 2
)

// timeline counts granted acquires by time and latency.
type timeline struct {
	clients   int32
	slice     time.Duration
	edges     []int64
	low, high int // first and last latency range that contain a grant
	counts    [][]int
}

// newTimeline returns an empty timeline for a trial of approximately the given length.
func newTimeline(clients int, length time.Duration) *timeline {
	t := &timeline{clients: int32(clients), slice: max(shortestTime, length/mostSlices), low: edges}
	for e := range edges {
		edge := int64(firstEdge) << (e / 2)
		if e%2 == 1 {
			edge = edge * 181 / 128 // 181/128 approximates the square root of 2, the ratio of adjacent limits
		}
		t.edges = append(t.edges, edge)
	}
	t.edges[0] = 0
	return t
}

func (t *timeline) visit(ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Acquire || !ev.Return || op.Outcome != histories.OK || op.Client < 0 || op.Client >= t.clients {
		return
	}
	row := len(t.edges) - 1
	for row > 0 && t.edges[row] > int64(op.Return-op.Due) {
		row--
	}
	for i := int(op.Return / t.slice); i >= len(t.counts); {
		t.counts = append(t.counts, make([]int, len(t.edges)))
	}
	t.counts[op.Return/t.slice][row]++
	t.low, t.high = min(t.low, row), max(t.high, row)
}

// timeline returns the number of grants by time and latency range, from the first to the last range that contains a grant.
// It returns nil if nothing was granted.
func (t *timeline) timeline(v *checker.Verdict) *bench.Timeline {
	if len(t.counts) == 0 {
		return nil
	}
	out := &bench.Timeline{SliceNS: int64(t.slice), Edges: t.edges[t.low:min(t.high+2, len(t.edges))]} // Edges also contains the upper limit of the last range
	for _, counts := range t.counts {
		out.Counts = append(out.Counts, counts[t.low:t.high+1])
	}
	for _, f := range v.Faults {
		to := f.To
		if to == histories.StillOpen {
			to = v.Until
		}
		if f.Effective {
			out.Faults = append(out.Faults, bench.Episode{Name: f.Name, FromNS: int64(f.From), ToNS: int64(to)})
		}
	}
	return out
}
