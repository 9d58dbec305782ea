package selection

import "github.com/samber/lo"

// LeaseAdvice holds the advised lease, and predictions for a range of leases.
type LeaseAdvice struct {
	Option    string       `json:"option"` // lock that the advice is for
	Lease     Lease        `json:"lease"`
	NeededNS  int64        `json:"needed_ns,omitempty"` // shortest lease that prevents two holders at once during the longest pause in the requirements
	AdvisedNS int64        `json:"advised_ns"`          // 0: no lease meets the requirements
	Inputs    []LeaseInput `json:"inputs"`              // durations of holds, pauses, acquires and hand-offs, from which the predictions are calculated
	Curve     []LeasePoint `json:"curve"`               // predictions, sorted by increasing lease
	Confirmed []Confirmed  `json:"confirmed"`
}

// LeaseInput is a duration from which the predictions are calculated.
type LeaseInput struct {
	Name     string   `json:"name"` // one of hold, pauses, acquire, hand-off
	Tag      Tag      `json:"tag"`  // kind of evidence for the durations; if it is Unknown, predictions treat the duration as 0
	Times    Times    `json:"times"`
	N        int      `json:"n,omitempty"`     // number of recorded durations; 0 if the number is unknown
	Where    string   `json:"where,omitempty"` // conditions under which the durations were recorded
	Evidence []string `json:"evidence,omitempty"`
}

// LeasePoint holds the predictions for one lease duration.
type LeasePoint struct {
	TTLNS int64 `json:"ttl_ns"`
	// Overlap is the probability that another client is granted the lock before the holder has finished. It applies to each
	// hold, and assumes that other clients wait.
	Overlap float64 `json:"overlap"`
	// GivenPause is the probability of two holders at once if a pause occurs during the hold.
	GivenPause float64 `json:"overlap_given_pause"`
	// RecoveryMeanNS and RecoveryMaxNS are the mean and the maximum of the time from the death of a holder to the next grant.
	RecoveryMeanNS int64 `json:"recovery_mean_ns"`
	RecoveryMaxNS  int64 `json:"recovery_max_ns"`
}

// Confirmed compares the prediction for a lease with trials in which holders were paused.
type Confirmed struct {
	TTLNS     int64     `json:"ttl_ns"` // lease in the trials, in nanoseconds
	Scale     float64   `json:"scale"`  // durations in the trials divided by the durations in the requirements
	Predicted float64   `json:"predicted"`
	Pauses    int       `json:"pauses"`   // number of holds during which the process was paused
	Overlaps  int       `json:"overlaps"` // number of holds during which the process was paused and another client was granted the lock
	Low       float64   `json:"low"`      // Low and High are the 95 % confidence interval (Clopper-Pearson) of Overlaps divided by Pauses
	High      float64   `json:"high"`
	Agrees    bool      `json:"agrees"` // whether the prediction lies in the interval
	Source    string    `json:"source"`
	Histories []History `json:"histories"`
}

// Share returns the observed share of overlapped holds.
func (c Confirmed) Share() float64 { return float64(c.Overlaps) / float64(max(c.Pauses, 1)) }

// InUse returns the lease in production, in nanoseconds, that corresponds to the tested lease. Trials multiply
// durations by the factor Scale, so InUse divides by it.
func (c Confirmed) InUse() float64 { return float64(c.TTLNS) / lo.Ternary(c.Scale > 0, c.Scale, 1) }

// PausedHolds counts the holds during which the holder was paused, in all trials with the same lease.
type PausedHolds struct {
	ID         string    `json:"id"` // id in the report: S1, S2, ...
	Source     string    `json:"source"`
	Dir        string    `json:"dir"` // folder of the trials, relative to the folder of the run
	Lock       string    `json:"lock"`
	TTLNS      int64     `json:"ttl_ns"`
	Holds      int       `json:"holds"`      // number of ended holds whose holder was paused during the hold
	Overlapped int       `json:"overlapped"` // holds in which another client was granted the lock before the holder had finished
	Histories  []History `json:"histories"`
}
