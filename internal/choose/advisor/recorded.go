package advisor

import (
	"errors"
	"fmt"
	"time"

	"lockbench/histories"
	"lockbench/reports/figures"
	"lockbench/reports/selection"
)

// RecordedHold is how long the work under a lock took, in histories that a team recorded of its own, and where that is from.
func RecordedHold(files ...string) (selection.Times, string, error) {
	all := figures.NewSamples()
	for _, file := range files {
		r, err := histories.Open(file)
		if err != nil {
			return selection.Times{}, "", err
		}
		stats, err := figures.Of(&r.Header, r.Next, figures.Window{})
		r.Close()
		if err != nil {
			return selection.Times{}, "", fmt.Errorf("%s: %w", file, err)
		}
		all.Merge(&stats.Samples)
	}
	h := all[figures.HoldTimes]
	if h.TotalCount() == 0 {
		return selection.Times{}, "", errors.New("no hold in it came to its end, so that nothing is known of how long the work takes")
	}
	at := func(percentile float64) time.Duration { return time.Duration(h.ValueAtPercentile(percentile)) }
	return selection.Times{P50: at(50), P99: at(99), Max: time.Duration(h.Max())},
		fmt.Sprintf("read from %d holds in %d recorded histories", h.TotalCount(), len(files)), nil
}
