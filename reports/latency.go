package reports

import (
	"bytes"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/histories"
)

// class is one kind of duration. Durations of two classes never stand in one histogram, but for the sum of
// both kinds of grants in latency.hgrm.
type class int

const (
	uncontended class = iota // granted; at the call no other client held the key or was asking for it
	contended                // granted; some other did
	refusals                 // definite answers: busy
	unknowns                 // returned with an unknown outcome
	handOffs                 // from release.call to the next grant's return, where somebody was waiting at the release
	holdTimes                // from acquire.return to release.call
	classes
)

// tag is the class's name in latency.hlog.
func (c class) tag() string {
	return [...]string{"granted-uncontended", "granted-contended", "refused", "unknown", "hand-off", "hold"}[c]
}

func classOf(o histories.Outcome, busy bool) class {
	switch {
	case o == histories.Refused:
		return refusals
	case o != histories.OK:
		return unknowns
	case busy:
		return contended
	}
	return uncontended
}

// Durations are recorded in nanoseconds, to three significant digits, up to maxTrackable.
const (
	maxTrackable = time.Hour
	digits       = 3
)

// samples are the durations of one trial, or of several, by class.
type samples [classes]*hdrhistogram.Histogram

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(maxTrackable), digits)
}

func newSamples() (s samples) {
	for c := range s {
		s[c] = newHistogram()
		s[c].SetTag(class(c).tag())
	}
	return s
}

// record tells whether the histogram took the duration.
func (s *samples) record(c class, d time.Duration) bool {
	return s[c].RecordValue(int64(d)) == nil
}

// merge adds the samples of another trial.
func (s *samples) merge(from *samples) {
	for c := range s {
		s[c].Merge(from[c]) // of the same range: nothing can be dropped
	}
}

// Distribution is what a histogram tells, in nanoseconds.
type Distribution struct {
	N           int64        `json:"n"`
	Max         int64        `json:"max_ns"`
	Percentiles []Percentile `json:"percentiles"` // of 50, 90, 99 and 99.9 %, those with enough samples behind them
	Curve       []Percentile `json:"curve"`       // finer, up to where ten samples remain
}

// Percentile is one point of a distribution: the part Rank (0 to 1) of the samples is not above NS.
type Percentile struct {
	Rank float64 `json:"rank"`
	NS   int64   `json:"ns"`
}

// tailSamples must lie beyond a percentile, or it is one sample's luck.
const tailSamples = 10

// samplesFor is how many samples a percentile takes.
func samplesFor(rank float64) int64 { return int64(math.Round(tailSamples / (1 - rank))) }

// At returns a percentile; ok is false where it has too few samples behind it.
func (d Distribution) At(rank float64) (ns int64, ok bool) {
	for _, p := range d.Percentiles {
		if p.Rank == rank {
			return p.NS, true
		}
	}
	return 0, false
}

// ranks are the percentiles of the tables.
func ranks() []float64 { return []float64{0.5, 0.9, 0.99, 0.999} }

func distributionOf(h *hdrhistogram.Histogram) Distribution {
	d := Distribution{N: h.TotalCount(), Percentiles: []Percentile{}, Curve: []Percentile{}}
	if d.N == 0 {
		return d
	}
	d.Max = h.Max()
	at := func(rank float64) Percentile {
		return Percentile{Rank: rank, NS: h.ValueAtPercentile(100 * rank)}
	}
	for _, rank := range ranks() {
		if d.N >= samplesFor(rank) {
			d.Percentiles = append(d.Percentiles, at(rank))
		}
	}
	for _, rank := range curveRanks(d.N) {
		d.Curve = append(d.Curve, at(rank))
	}
	return d
}

// curveRanks are ten ranks a decade of 1/(1-rank), from the median to where ten of n samples remain.
func curveRanks(n int64) []float64 {
	var all []float64
	for decade := 1.0; ; decade *= 10 {
		for _, step := range []float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8} {
			x := step * decade
			if x < 2 {
				continue
			}
			rank := math.Round((1-1/x)*1e9) / 1e9
			if n < samplesFor(rank) {
				return all
			}
			all = append(all, rank)
		}
	}
}

// stamp gives the histograms the time of their trial, for the interval log.
func (s *samples) stamp(started time.Time, first, last time.Duration) {
	for c := range s {
		s[c].SetStartTimeMs(started.Add(first).UnixMilli())
		s[c].SetEndTimeMs(started.Add(max(first, last)).UnixMilli())
	}
}

// intervalLog writes an interval log, format 1.3: per trial one line for each class that has samples,
// tagged with it. Maxima are in milliseconds, values in nanoseconds.
func intervalLog(trials []*samples) ([]byte, error) {
	var b bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&b)
	base := int64(0)
	if len(trials) > 0 {
		base = max(0, trials[0][0].StartTimeMs()) / 1000 * 1000 // the file states it in whole seconds
	}
	w.SetBaseTime(base)
	if err := logHead(w, base); err != nil {
		return nil, err
	}
	for _, s := range trials {
		for _, h := range s {
			if h.TotalCount() == 0 {
				continue
			}
			h.SetStartTimeMs(max(h.StartTimeMs(), base)) // a clock set back must not make the file unreadable
			h.SetEndTimeMs(max(h.EndTimeMs(), h.StartTimeMs()))
			if err := w.OutputIntervalHistogram(h); err != nil {
				return nil, err
			}
		}
	}
	return b.Bytes(), nil
}

func logHead(w *hdrhistogram.HistogramLogWriter, base int64) error {
	steps := []func() error{
		func() error {
			return w.OutputComment("[acquire latency from the intended start, hand-off and hold; one tag per class, one interval per trial]")
		},
		w.OutputLogFormatVersion,
		func() error { return w.OutputBaseTime(base) },
		func() error { return w.OutputStartTime(base) },
		w.OutputLegend,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// percentileText writes the distribution of all grants, contended or not, in milliseconds.
func percentileText(s *samples) ([]byte, error) {
	granted := newHistogram()
	granted.Merge(s[uncontended])
	granted.Merge(s[contended])
	var b bytes.Buffer
	_, err := granted.PercentilesPrint(&b, 5, float64(time.Millisecond))
	return b.Bytes(), err
}
