package bench

// Results is results.json: what the trials of a folder come to. It is made from bench.json and the trials alone, so that
// the same folder always gives the same.
type Results struct {
	Version  int       `json:"lockbench_bench_results"`
	Plan     *Plan     `json:"plan"`
	Withheld []string  `json:"withheld,omitempty"` // why the figures are not shown: the controls that failed
	Checks   []Check   `json:"checks"`             // the bench's controls, in display order
	Rows     []Row     `json:"rows"`               // by point, then by subject, as the plan has them
	Rankings []Ranking `json:"rankings"`           // by point
	Trials   []*Trial  `json:"-"`                  // in the order in which they ran
	Dir      string    `json:"-"`
}

// Check is one of the controls that every bench carries.
type Check struct {
	Name string `json:"name"` // broken-lock, known-delay, stalled-generator, same-lock-twice
	Doc  string `json:"doc"`  // what must come out, in one sentence
	OK   bool   `json:"ok"`
	Seen string `json:"seen"` // what came out, in one sentence with its figures
}

// Row is one subject at one point, over its trials.
type Row struct {
	Subject   string              `json:"subject"`
	Point     string              `json:"point"`
	Trials    int                 `json:"trials"` // that count
	Void      int                 `json:"void,omitempty"`
	Estimates map[string]Estimate `json:"estimates"` // by metric
	// Unsafe is the violation by which the figures of the row mean nothing; in how many of the trials is UnsafeIn.
	Unsafe   *Violation `json:"unsafe,omitempty"`
	UnsafeIn int        `json:"unsafe_in,omitempty"`
	// Limited says that the harness or the machine, and not the lock, was the limit; empty where it was not.
	Limited string `json:"limited,omitempty"`
	// Unsteady is in how many trials the rate had not settled when the measured window began.
	Unsteady int `json:"unsteady,omitempty"`
}

// Estimate is a metric over trials: the median and an interval that contains the true one with the stated confidence
// (golang.org/x/perf/benchmath, which assumes nothing of the distribution).
type Estimate struct {
	Median     float64   `json:"median"`
	Low        *float64  `json:"low"` // null: too few trials for a finite interval
	High       *float64  `json:"high"`
	Confidence float64   `json:"confidence,omitempty"` // that was reached: at least 0.95 where Low and High are there
	N          int       `json:"n"`
	Values     []float64 `json:"values"` // by block
	Blocks     []int     `json:"blocks"`
}

// Ranking is a point's subjects from best to worst by goodput. Those that cannot be told apart share a rank.
type Ranking struct {
	Point string   `json:"point"`
	Order []Ranked `json:"order"`
}

// Ranked is a subject's place.
type Ranked struct {
	Subject string     `json:"subject"`
	Rank    int        `json:"rank"`          // from 1; 0: out of the running, as its figures mean nothing
	ToBest  Comparison `json:"to_best"`       // this to the best; of the best itself the ratio is 1
	Why     string     `json:"why,omitempty"` // out of the running
}

// Comparison is a metric of A as a multiple of that of B.
type Comparison struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Point  string  `json:"point"`
	Metric string  `json:"metric"`
	MedA   float64 `json:"median_a"`
	MedB   float64 `json:"median_b"`
	// Ratio is the median of the ratios: of those within each block where trials are paired, else of each value to each.
	// 0: there is none, and Note says why.
	Ratio  float64  `json:"ratio"`
	Low    *float64 `json:"low"` // of a 95 % interval; null: too few trials
	High   *float64 `json:"high"`
	Paired bool     `json:"paired"` // trial by trial, of the same blocks: a sign-flip test; else a U test
	Pairs  int      `json:"pairs"`
	P      float64  `json:"p"`
	Holm   float64  `json:"p_holm"` // corrected for all rows that are shown together
	// Differs tells that the difference is no noise: Holm is under 0.05, and 1 is outside the interval, where there is one.
	// Else ~ stands in its place.
	Differs bool   `json:"differs"`
	Note    string `json:"note,omitempty"`
}
