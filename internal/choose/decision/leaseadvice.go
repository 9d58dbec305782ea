package decision

// LeaseAdvice is how long a lease to ask for, and what each length would mean.
type LeaseAdvice struct {
	Option    string       `json:"option"` // whose acquire times, and whose way of renewing
	Lease     Lease        `json:"lease"`
	AdvisedNS int64        `json:"advised_ns"` // 0: no lease does what is needed
	Sentence  string       `json:"sentence"`
	Inputs    []Statement  `json:"inputs"` // what the curve is made from
	Curve     []LeasePoint `json:"curve"`  // by rising lease
	Confirmed []Confirmed  `json:"confirmed"`

	Points []TrialPoint `json:"-"` // that are to be tried; they follow from the inputs
}

// LeasePoint is what a lease of one length comes to.
type LeasePoint struct {
	TTLNS int64 `json:"ttl_ns"`
	// Double is the probability, for each acquisition while others wait, that another is granted before its holder is done.
	Double float64 `json:"double_hold"`
	// GivenPause is the same where a pause falls into the hold.
	GivenPause float64 `json:"double_hold_given_a_pause"`
	// From the death of a holder to the next grant: the mean over when it dies, and at most.
	RecoveryMeanNS int64 `json:"recovery_mean_ns"`
	RecoveryMaxNS  int64 `json:"recovery_max_ns"`
}

// Confirmed is a point of the curve that was tried: processes that really stood still in their holds, for times drawn from
// the distribution of pauses.
type Confirmed struct {
	TTLNS     int64     `json:"ttl_ns"` // as it was tried
	Scale     float64   `json:"scale"`  // all times of the trial by those of the needs: 1 where they are the same
	Predicted float64   `json:"predicted"`
	Pauses    int       `json:"pauses"`  // that fell into a hold
	Doubles   int       `json:"doubles"` // of those, in which another was granted before its holder was done
	Low       float64   `json:"low"`     // of the 95 % interval (Clopper-Pearson) of the observed share
	High      float64   `json:"high"`
	Agrees    bool      `json:"agrees"` // what was predicted lies within it
	Text      string    `json:"text"`
	Source    string    `json:"source"`
	Histories []History `json:"histories"`
}
