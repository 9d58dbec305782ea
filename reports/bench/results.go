package bench

import "lockbench/reports/stats"

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
	Subject   string                    `json:"subject"`
	Point     string                    `json:"point"`
	Trials    int                       `json:"trials"` // that count
	Void      int                       `json:"void,omitempty"`
	Estimates map[string]stats.Estimate `json:"estimates"` // by metric
	// Unsafe is the violation by which the figures of the row mean nothing; in how many of the trials is UnsafeIn.
	Unsafe   *Violation `json:"unsafe,omitempty"`
	UnsafeIn int        `json:"unsafe_in,omitempty"`
	// Limited says that the harness or the machine, and not the lock, was the limit; empty where it was not.
	Limited string `json:"limited,omitempty"`
	// Unsteady is in how many trials the rate had not settled when the measured window began.
	Unsteady int `json:"unsteady,omitempty"`
}

// Ranking is a point's subjects from best to worst by goodput. Those that cannot be told apart share a rank.
type Ranking struct {
	Point string   `json:"point"`
	Order []Ranked `json:"order"`
}

// Ranked is a subject's place.
type Ranked struct {
	Subject string           `json:"subject"`
	Rank    int              `json:"rank"`          // from 1; 0: out of the running, as its figures mean nothing
	ToBest  stats.Comparison `json:"to_best"`       // this to the best; of the best itself the ratio is 1
	Why     string           `json:"why,omitempty"` // out of the running
}
