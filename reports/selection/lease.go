package selection

import "github.com/samber/lo"

// LeaseAdvice is how long a lease to ask for, and what each length would mean.
type LeaseAdvice struct {
	Option    string       `json:"option"` // whose acquire times and way of renewing these are
	Lease     Lease        `json:"lease"`
	NeededNS  int64        `json:"needed_ns,omitempty"` // the shortest lease that outlasts the longest pause, and work if nothing renews it
	AdvisedNS int64        `json:"advised_ns"`          // 0: no lease does what is needed
	Inputs    []LeaseInput `json:"inputs"`              // what the curve is made from
	Curve     []LeasePoint `json:"curve"`               // by rising lease
	Confirmed []Confirmed  `json:"confirmed"`
}

// LeaseInput is one of the times from which the curve is made.
type LeaseInput struct {
	Name     string   `json:"name"` // hold, pause, acquire, hand-off
	Tag      Tag      `json:"tag"`  // unknown: it is taken to last no time
	Times    Times    `json:"times"`
	N        int      `json:"n,omitempty"`     // how many were recorded; 0: the quantiles were given
	Where    string   `json:"where,omitempty"` // under what conditions they were recorded or measured
	Evidence []string `json:"evidence,omitempty"`
}

// LeasePoint is the prediction for a lease of one length.
type LeasePoint struct {
	TTLNS int64 `json:"ttl_ns"`
	// Overlap is the probability, for each acquisition while others wait, that another client is granted the lock before its
	// holder is done.
	Overlap float64 `json:"overlap"`
	// GivenPause is the same if a pause falls into the hold.
	GivenPause float64 `json:"overlap_given_pause"`
	// From the death of a holder to the next grant: the mean over when it dies, and at most.
	RecoveryMeanNS int64 `json:"recovery_mean_ns"`
	RecoveryMaxNS  int64 `json:"recovery_max_ns"`
}

// Confirmed is a point of the curve that was tried: processes were paused in their holds, as the needs say.
type Confirmed struct {
	TTLNS     int64     `json:"ttl_ns"` // as it was tried
	Scale     float64   `json:"scale"`  // all times of the trial divided by those of the needs
	Predicted float64   `json:"predicted"`
	Pauses    int       `json:"pauses"`   // that fell into a hold
	Overlaps  int       `json:"overlaps"` // of those: another client was granted the lock before its holder was done
	Low       float64   `json:"low"`      // of the 95 % interval (Clopper-Pearson) of the observed share
	High      float64   `json:"high"`
	Agrees    bool      `json:"agrees"` // the prediction lies in the interval
	Source    string    `json:"source"`
	Histories []History `json:"histories"`
}

// Share returns the observed share of overlap holds.
func (c Confirmed) Share() float64 { return float64(c.Overlaps) / float64(max(c.Pauses, 1)) }

// InUse returns the lease, in nanoseconds, that a scaled trial stands for.
func (c Confirmed) InUse() float64 { return float64(c.TTLNS) / lo.Ternary(c.Scale > 0, c.Scale, 1) }

// PausedHolds counts the paused holds in the trials of one lease.
type PausedHolds struct {
	ID         string    `json:"id"` // S1, ...: unique in a report
	Source     string    `json:"source"`
	Dir        string    `json:"dir"` // of the cell, in its source
	Lock       string    `json:"lock"`
	TTLNS      int64     `json:"ttl_ns"`
	Holds      int       `json:"holds"`      // into which a pause fell, and which came to an end
	Overlapped int       `json:"overlapped"` // of those: another client was granted the lock before their holder was done
	Histories  []History `json:"histories"`
}
