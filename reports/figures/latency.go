package figures

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/histories"
)

// Class is a kind of measured duration, such as the latency of an uncontended acquire.
type Class int

// The kinds of measured durations. Classes is the number of kinds.
const (
	Uncontended Class = iota // granted acquire of a free key: at the call, no other client held the key or was acquiring it
	Contended                // granted acquire of a key that another client was holding or acquiring at the time of the call
	Refusals                 // refused acquire: another client held the key (busy)
	Unknowns                 // acquire that returned with an unknown outcome
	HandOffs                 // time from the call of a release until the acquire of a waiting client returns
	HoldTimes                // time from the return of an acquire to the call of the matching release
	Late                     // delay of an acquire call after its planned start, or after the end of the client's previous operation if this is later
	Classes
)

// Tag returns the name of this kind of duration in the file latency.hlog, such as "hand-off".
func (c Class) Tag() string {
	return [...]string{"granted-uncontended", "granted-contended", "refused", "unknown", "hand-off", "hold", "late"}[c]
}

func classOf(o histories.Outcome, busy bool) Class {
	switch {
	case o == histories.Refused:
		return Refusals
	case o != histories.OK:
		return Unknowns
	case busy:
		return Contended
	}
	return Uncontended
}

// Range and precision of the histograms. Durations are in nanoseconds, with three significant digits.
const (
	MaxTrackable = time.Hour
	digits       = 3
)

// Samples holds a histogram for each kind of measured duration, such as the latencies of contended acquires.
type Samples [Classes]*hdrhistogram.Histogram

// NewHistogram returns an empty histogram of durations in nanoseconds.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(MaxTrackable), digits) }

// NewSamples returns a Samples with empty histograms.
func NewSamples() (s Samples) {
	for c := range s {
		s[c] = NewHistogram()
		s[c].SetTag(Class(c).Tag())
	}
	return s
}

// Record adds a duration to the histogram of a class. It reports whether the duration was within the histogram's range.
func (s *Samples) Record(c Class, d time.Duration) bool { return s[c].RecordValue(int64(d)) == nil }

// Merge adds the samples of another trial to s.
func (s *Samples) Merge(from *Samples) {
	for c := range s {
		s[c].Merge(from[c]) // all histograms have the same range, so no value is dropped
	}
}

// Distribution holds percentiles of a histogram, in nanoseconds.
type Distribution struct {
	N           int64        `json:"n"`
	Max         int64        `json:"max_ns"`
	Percentiles []Percentile `json:"percentiles"` // percentiles 50, 90, 99 and 99.9, if there are enough samples
	Curve       []Percentile `json:"curve"`       // percentiles for a chart, up to the highest percentile that at least ten samples exceed
}

// Percentile is a percentile of a distribution of durations. The fraction Rank (0 to 1) of the durations does not
// exceed NS nanoseconds.
type Percentile struct {
	Rank float64 `json:"rank"`
	NS   int64   `json:"ns"`
}

// tailSamples is the minimum number of samples above a reported percentile.
const tailSamples = 10

// SamplesFor returns the number of samples needed to report a percentile.
func SamplesFor(rank float64) int64 { return int64(math.Round(tailSamples / (1 - rank))) }

// At returns the percentile with the given rank. If there are too few samples, ok is false.
func (d Distribution) At(rank float64) (ns int64, ok bool) {
	i := slices.IndexFunc(d.Percentiles, func(p Percentile) bool { return p.Rank == rank })
	if i < 0 {
		return 0, false
	}
	return d.Percentiles[i].NS, true
}

// Ranks returns the percentile ranks for tables, as fractions of 1.
func Ranks() []float64 { return []float64{0.5, 0.9, 0.99, 0.999} }

// DistributionOf returns the percentiles of a histogram.
func DistributionOf(h *hdrhistogram.Histogram) Distribution {
	d := Distribution{N: h.TotalCount(), Percentiles: []Percentile{}, Curve: []Percentile{}}
	if d.N == 0 {
		return d
	}
	d.Max = h.Max()
	for _, rank := range Ranks() {
		if d.N >= SamplesFor(rank) {
			d.Percentiles = append(d.Percentiles, Percentile{rank, h.ValueAtPercentile(100 * rank)})
		}
	}
	for _, rank := range curveRanks(d.N) {
		d.Curve = append(d.Curve, Percentile{rank, h.ValueAtPercentile(100 * rank)})
	}
	return d
}

// curveRanks returns the percentile ranks of a chart, in ascending order from 0.5. There are ten ranks from 0.9 to
// below 0.99, ten from 0.99 to below 0.999, and so on. At least ten of the n samples are above the highest rank.
func curveRanks(n int64) []float64 {
	var all []float64
	for decade := 1.0; ; decade *= 10 {
		for _, step := range []float64{1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8} {
			rank := math.Round((1-1/(step*decade))*1e9) / 1e9
			if n < SamplesFor(rank) {
				return all
			}
			if rank >= 0.5 {
				all = append(all, rank)
			}
		}
	}
}

// Stamp sets the start and end times of the histograms for the interval log.
func (s *Samples) Stamp(started time.Time, first, last time.Duration) {
	for c := range s {
		s[c].SetStartTimeMs(started.Add(first).UnixMilli())
		s[c].SetEndTimeMs(started.Add(max(first, last)).UnixMilli())
	}
}

// IntervalLog writes an HdrHistogram interval log, format 1.3. Each trial and class with samples has a tagged line.
// Maxima are in milliseconds, and histogram values in nanoseconds.
func IntervalLog(trials []*Samples) ([]byte, error) {
	var b bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&b)
	base := int64(0)
	if len(trials) > 0 {
		base = max(0, trials[0][0].StartTimeMs()) / 1000 * 1000 // the log states the base time in whole seconds
	}
	w.SetBaseTime(base)
	err := errors.Join(
		w.OutputComment("[acquire latency from the intended start, hand-off and hold; one tag per class, one interval per trial]"),
		w.OutputLogFormatVersion(), w.OutputBaseTime(base), w.OutputStartTime(base), w.OutputLegend())
	if err != nil {
		return nil, err
	}
	for _, s := range trials {
		for _, h := range s {
			if h.TotalCount() == 0 || h.Tag() == Late.Tag() { // Late is omitted, because it measures lockbench and not the lock
				continue
			}
			h.SetStartTimeMs(max(h.StartTimeMs(), base)) // the system clock may have been set back, but no interval may start before the base time
			h.SetEndTimeMs(max(h.EndTimeMs(), h.StartTimeMs()))
			if err := w.OutputIntervalHistogram(h); err != nil {
				return nil, err
			}
		}
	}
	return b.Bytes(), nil
}

// PercentileText returns the percentile distribution of all granted acquires as text, in milliseconds.
func PercentileText(s *Samples) ([]byte, error) {
	granted := NewHistogram()
	granted.Merge(s[Uncontended])
	granted.Merge(s[Contended])
	var b bytes.Buffer
	_, err := granted.PercentilesPrint(&b, 5, float64(time.Millisecond))
	return b.Bytes(), err
}

// Commands returns the number of commands that servers executed for lock operations between two readings of the
// counters. Commands within scripts count too. If the number is unknown, ok is false, and the returned text states the
// reason.
func Commands(before, after map[string]float64) (n float64, why string, ok bool) {
	if before == nil || after == nil {
		return 0, "the server keeps no counters", false
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		command, isCall := strings.CutPrefix(name, "calls.")
		if !isCall || overhead(command) {
			continue
		}
		delta := after[name] - before[name]
		if delta < 0 {
			return 0, "the counters went backwards: a server was restarted", false
		}
		n += delta
	}
	return n, "", true
}

// overhead reports whether a command is not part of a lock operation, such as the setup of a connection.
func overhead(command string) bool {
	name, _, _ := strings.Cut(command, "|")
	switch name {
	case "info", "config", "ping", "hello", "client", "auth", "select", "command":
		return true
	}
	return command == "script|load"
}
