package shop

import (
	"context"
	"math"
	"slices"
	"time"
)

// Figures are shop.json: what a sale came to.
type Figures struct {
	Form      string        `json:"form"` // of the shop
	Processes int           `json:"processes"`
	Buyers    int           `json:"buyers"`
	Segments  int           `json:"segments"` // that the stock was split in; 1: it was not
	Hold      time.Duration `json:"hold_ns"`  // the work under the lock

	Stock   int     `json:"stock"`
	Sold    int     `json:"sold"`
	Left    int64   `json:"left"`                // of the stock, read at the end
	Refused int     `json:"refused"`             // orders that were answered "sold out"
	Busy    int     `json:"busy"`                // to which the lock was not granted in time
	Unknown int     `json:"unknown"`             // orders without a definite answer
	Seconds float64 `json:"seconds_to_sell_out"` // from the opening to the last order; 0: nothing was sold
	Goodput float64 `json:"goodput_per_second"`  // orders, until all was sold
	P50     int64   `json:"order_p50_ns"`        // of orders that were sold
	P99     int64   `json:"order_p99_ns"`
	Late    int     `json:"late"`                 // orders sent when all was sold
	Reached int     `json:"late_reached_service"` // of those, as the services counted them
	LateP50 int64   `json:"late_p50_ns"`

	LockCommands  *float64 `json:"lock_commands_per_order"`  // that the lock's servers executed until all was sold; null: they do not count
	StockCommands *float64 `json:"stock_commands_per_order"` // of the stock's Redis
	Unplaced      int      `json:"unplaced_holds"`           // of which nothing certain was left to record
}

// Figures are what the sale came to, but for what is read elsewhere: the form, the stock and what servers count.
func (s *Sale) Figures(ctx context.Context) (Figures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.figures
	f := c.Figures
	f.Processes, f.Buyers, f.Hold, f.Stock = len(s.Services), len(s.clients), s.Params.Hold, s.Params.Stock
	f.P50, f.P99, f.LateP50 = int64(percentile(c.orders, 0.5)), int64(percentile(c.orders, 0.99)), int64(percentile(c.turned, 0.5))
	if f.Sold > 0 {
		f.Seconds = (c.ended - s.started).Seconds()
		f.Goodput = float64(f.Sold) / f.Seconds
	}
	for _, p := range s.Services {
		r, err := p.Reached(ctx)
		if err != nil {
			return f, err
		}
		f.Reached += r.Late
	}
	return f, nil
}

// percentile is the smallest time that so many of all are not above; 0 of none.
func percentile(times []time.Duration, rank float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(rank*float64(len(sorted))))-1)]
}
