package run

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/reports/format"
)

// Sale holds the results of one trial of a flash-sale workload. In such a workload, clients buy from a limited stock
// under a lock.
type Sale struct {
	Dir        string `json:"dir"` // folder of the trial in the run folder
	Lock       string `json:"lock"`
	Deployment string `json:"deployment"`
	Workload   string `json:"workload"`
	saleFigures
}

// saleFigures holds the content of shop.json. Fields whose JSON names end in "_ns" hold nanoseconds; rates are per second.
type saleFigures struct {
	// Form is the variant of the workload. In "plain", the stock is not split. In "split", it is split into segments.
	// In "gated", nginx rejects orders after the stock is sold out. "split and gated" combines both. In "unshared",
	// each service process has a separate lock.
	Form      string `json:"form"`
	Processes int    `json:"processes"`
	Buyers    int    `json:"buyers"`
	Segments  int    `json:"segments"`
	HoldNS    int64  `json:"hold_ns"` // duration of the work under the lock

	Stock   int     `json:"stock"`
	Sold    int     `json:"sold"`
	Left    int64   `json:"left"`
	Refused int     `json:"refused"` // orders refused because the stock was sold out
	Busy    int     `json:"busy"`    // orders that timed out while waiting for the lock
	Unknown int     `json:"unknown"` // orders with an unknown outcome
	Seconds float64 `json:"seconds_to_sell_out"`
	Goodput float64 `json:"goodput_per_second"` // orders per second until the stock was sold out
	P50     int64   `json:"order_p50_ns"`
	P99     int64   `json:"order_p99_ns"`
	Late    int     `json:"late"`                 // orders that clients sent after the stock was sold out
	Reached int     `json:"late_reached_service"` // orders that were sent after the stock was sold out and reached a service process
	LateP50 int64   `json:"late_p50_ns"`

	LockCommands  *float64 `json:"lock_commands_per_order"` // null if commands were not counted
	StockCommands *float64 `json:"stock_commands_per_order"`
	Unplaced      int      `json:"unplaced_holds"` // holds that were too short to measure
}

// saleRow holds the formatted figures of a lock in a flash sale. They are from the trial with the median goodput.
type saleRow struct {
	Sale
	Label             string // name of the lock
	Trials            int
	Exact             bool   // whether every trial sold exactly the initial stock
	Ratio             string // goodput relative to a plain sale, in which the stock is not split and no gate rejects buyers
	Spared            string // percentage of the orders sent after the stock was sold out that reached no service process
	LockCmd, StockCmd string // commands of the lock and of the stock, per order
}

func (r *Results) saleRows() []saleRow {
	label := r.Run.labels()
	var rows []saleRow
	for _, sales := range grouped(r.Sales, (*Sale).cell) {
		row := rowOf(sales)
		row.Label = label(row.Lock, row.Deployment)
		rows = append(rows, row)
	}
	for i := range rows {
		rows[i].compare(rows)
	}
	return rows
}

func (s *Sale) cell() [3]string { return [3]string{s.Lock, s.Deployment, s.Workload} }

func rowOf(all []Sale) saleRow {
	slices.SortStableFunc(all, func(a, b Sale) int { return cmp.Compare(a.Goodput, b.Goodput) })
	row := saleRow{Sale: all[(len(all)-1)/2], Trials: len(all), Exact: true, Spared: format.None}
	for _, s := range all {
		row.Exact = row.Exact && s.Sold == s.Stock && s.Left == 0
	}
	if row.Late > 0 {
		row.Spared = format.Percent(float64(row.Late-row.Reached) / float64(row.Late))
	}
	row.LockCmd, row.StockCmd = perOrder(row.LockCommands), perOrder(row.StockCommands)
	return row
}

func perOrder(n *float64) string {
	if n == nil {
		return format.None
	}
	return format.Significant(*n)
}

// compare sets Ratio to the goodput relative to a row with the form "plain", in which the stock is not split and nginx
// rejects no orders. If possible, compare uses a row of the same lock.
func (row *saleRow) compare(rows []saleRow) {
	plain := slices.DeleteFunc(slices.Clone(rows), func(o saleRow) bool { return o.Form != "plain" })
	i := max(0, slices.IndexFunc(plain, func(o saleRow) bool { return o.Lock == row.Lock && o.Deployment == row.Deployment }))
	if row.Ratio = format.None; len(plain) == 0 || plain[i].Goodput == 0 || !row.Exact {
		return
	}
	if row.Ratio = "1"; row.cell() != plain[i].cell() {
		row.Ratio = hundredths(row.Goodput / plain[i].Goodput)
	}
}

// Balance returns the items sold, the initial stock, and any stock left, as in "199 of 200, 1 left". If this trial sold
// exactly its stock but another trial did not, the text says so.
func (row saleRow) Balance() string {
	text := fmt.Sprintf("%s of %s", format.Count(row.Sold), format.Count(row.Stock))
	switch {
	case !row.Exact && row.Sold == row.Stock && row.Left == 0:
		text += ", in another trial not"
	case row.Left != 0:
		text += fmt.Sprintf(", %s left", format.Count(int(row.Left)))
	}
	return text
}

func saleSetup(rows []saleRow) string {
	f := rows[0]
	return fmt.Sprintf("%s, %s, %s for sale, and %s of work under the lock", format.Plural(f.Buyers, "buyer"), format.Plural(f.Processes, "service process"),
		format.Plural(f.Stock, "piece"), format.Setting(f.HoldNS))
}
