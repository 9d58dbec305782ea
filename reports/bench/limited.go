package bench

import "fmt"

// From these on the harness or the machine, and not the lock, sets the figures.
const (
	partOfNone   = 0.5  // of the goodput that clients reach with no lock at all
	lateMS       = 1.0  // above the hold
	stallMS      = 50.0 // in the trial that is the median
	allProcessor = 0.95 // of those there are
)

// limited says in a short phrase why it was not the lock that set the row's figures; empty where it was.
func (r *Results) limited(row Row) string {
	point, _ := r.Plan.Point(row.Point)
	if s := r.besideNone(row, point); s != "" {
		return s
	}
	hold := float64(point.HoldNS) / 1e6
	if late := row.Estimates["late_p99"]; late.Median > lateMS+hold {
		return fmt.Sprintf("harness: clients began late (p99 %.3g ms)", late.Median)
	}
	if stall := row.Estimates["stall_max"]; stall.Median > stallMS {
		return fmt.Sprintf("harness: it stood still for up to %.3g ms", stall.Median)
	}
	cores := float64(r.Plan.Environment.Cores)
	if busy := row.Estimates["processors"]; cores > 0 && busy.Median >= allProcessor*cores {
		return fmt.Sprintf("processors: %.3g of %g busy", busy.Median, cores)
	}
	return ""
}

// besideNone compares a row with what the same clients reach without any lock. If something is held, the hold sets both.
func (r *Results) besideNone(row Row, point Point) string {
	none, ok := find(r.Rows, func(n Row) bool {
		s, _ := r.Plan.Subject(n.Subject)
		return n.Point == row.Point && s.Role == Floor && s.Lock == "none"
	})
	part := row.Estimates[rankedBy].Median / none.Estimates[rankedBy].Median
	if !ok || point.HoldNS > 0 || row.Subject == none.Subject || none.Estimates[rankedBy].N == 0 || part <= partOfNone {
		return ""
	}
	return fmt.Sprintf("harness: %.0f %% of what it reaches with no lock at all", 100*part)
}
