package figures

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Waits holds the waits of each client for contended keys, also those that ended without a grant or had not ended. Such a wait is
// censored: the client would have waited at least as long.
type Waits struct {
	clients map[int32]*waits
	n       int64
}

type waits struct{ granted, censored *hdrhistogram.Histogram }

// Shortest wait that is told from shorter ones, and precision, of the histograms of a client. There may be many clients.
const (
	shortestWait = time.Microsecond
	waitDigits   = 2
)

func (w *Waits) record(client int32, wait time.Duration, granted bool) {
	if w.clients == nil {
		w.clients = map[int32]*waits{}
	}
	c := w.clients[client]
	if c == nil {
		c = &waits{hdrhistogram.New(int64(shortestWait), int64(MaxTrackable), waitDigits), hdrhistogram.New(int64(shortestWait), int64(MaxTrackable), waitDigits)}
		w.clients[client] = c
	}
	of := c.censored
	if granted {
		of = c.granted
	}
	if of.RecordValue(int64(wait)) == nil {
		w.n++
	}
}

// Percentile returns the percentile of the waits for contended keys, in nanoseconds. Each client has the same weight, however often it
// was granted, and censored waits count as in the estimator of Kaplan and Meier (1958). If too many waits are censored for the
// percentile, it returns the longest wait, which is a lower bound. If there are too few waits, ok is false.
func (w *Waits) Percentile(rank float64) (ns int64, ok bool) {
	if w.n < SamplesFor(rank) {
		return 0, false
	}
	granted, censored := map[int64]float64{}, map[int64]float64{} // weights by wait
	for _, c := range w.clients {
		each := 1 / float64(c.granted.TotalCount()+c.censored.TotalCount())
		add(granted, c.granted, each)
		add(censored, c.censored, each)
	}
	all := maps.Clone(granted)
	maps.Copy(all, censored)
	survival, atRisk := 1.0, float64(len(w.clients))
	for _, ns = range slices.Sorted(maps.Keys(all)) {
		survival *= max(0, 1-granted[ns]/atRisk)
		if atRisk -= granted[ns] + censored[ns]; survival <= 1-rank+1e-9 { // allow for rounding
			break
		}
	}
	return ns, true
}

func add(to map[int64]float64, h *hdrhistogram.Histogram, each float64) {
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			to[bar.To] += each * float64(bar.Count)
		}
	}
}
