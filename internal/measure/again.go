package measure

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/histories"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
)

// Again works out once more what a trial's history alone tells: latencies, rates and shares, and nothing that was counted
// beside it. dir is the folder of the bench.
func Again(dir string, t *bench.Trial, point bench.Point) (bench.Figures, error) {
	stats, err := statsAgain(dir, t)
	if err != nil {
		return nil, err
	}
	return ofHistory(stats, point, 0), nil
}

// UncontendedAgain are once more the times of a trial's acquires that nobody else was in the way of.
func UncontendedAgain(dir string, t *bench.Trial) (*hdrhistogram.Histogram, error) {
	stats, err := statsAgain(dir, t)
	if err != nil {
		return nil, err
	}
	return stats.Samples[figures.Uncontended], nil
}

func statsAgain(dir string, t *bench.Trial) (*figures.Stats, error) {
	if t.Judged == nil || t.Judged.History == "" {
		return nil, errors.New("its history was not kept")
	}
	r, err := histories.Open(filepath.Join(dir, filepath.FromSlash(t.Judged.History)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	window := figures.Window{}
	if t.FromNS > 0 {
		window = figures.Window{From: time.Duration(t.FromNS), To: time.Duration(t.FromNS + t.MeasuredNS)}
	}
	return figures.Of(&r.Header, r.Next, window)
}
