package run

import (
	"cmp"
	"slices"

	"lockbench/reports/figures"
	"lockbench/reports/stats"
)

// Measurement holds the speed and the fairness of a lock in one workload under one fault, over all judged trials. Rates are
// medians with their range. Distributions are merged histograms; percentiles are never averaged.
type Measurement struct {
	Dir        string `json:"dir"` // folder that contains the trials
	Lock       string `json:"lock"`
	Deployment string `json:"deployment"`
	Workload   string `json:"workload"`
	Fault      string `json:"fault"`
	Scenario   string `json:"scenario,omitempty"`
	Standing   string `json:"standing"` // reason why the speed is not compared; empty if the speed is compared
	Server     string `json:"server"`
	Store      string `json:"store"` // store of the lock; empty if the lock has no store or the store is unknown
	Clients    int    `json:"clients"`
	Processes  int    `json:"processes"`
	Concurrent bool   `json:"concurrent,omitempty"` // whether trials ran in parallel
	Simulated  bool   `json:"simulated_processes"`  // whether one process simulated all processes, each with a separate lock object
	TTLNS      int64  `json:"ttl_ns"`
	Keys       int    `json:"keys"` // largest number of distinct keys used in a trial

	Trials      []TrialFigures `json:"trials"`
	Sections    int            `json:"sections"`               // number of completed critical sections
	Goodput     Range          `json:"goodput_per_second"`     // critical sections per second
	Ceiling     float64        `json:"ceiling_per_second"`     // 1/(median hold time); 0 if several keys were used, no hold time was configured, or nothing completed
	Jain        Range          `json:"jain"`                   // Jain's index of critical sections per client
	Commands    *float64       `json:"commands_per_grant"`     // number of server commands per grant; null if commands were not counted
	CommandsWhy string         `json:"commands_why,omitempty"` // reason why the commands were not counted

	Uncontended figures.Distribution `json:"granted_uncontended"`
	Contended   figures.Distribution `json:"granted_contended"`
	Refused     figures.Distribution `json:"refused"`
	Unknown     figures.Distribution `json:"unknown"`
	HandOff     figures.Distribution `json:"hand_off"`
	Hold        figures.Distribution `json:"hold"`

	Network  *Network  `json:"network_per_grant,omitempty"` // traffic per grant; null if no proxy of lockbench was used
	Recovery *Recovery `json:"recovery,omitempty"`          // null if no recovery was measured

	Longest    figures.Wait `json:"longest_wait"`
	CutOff     int          `json:"cut_off"`      // number of acquires that had not returned at the end of their trial
	Reentries  int          `json:"reentries"`    // number of re-entrant grants; the histograms omit them
	OutOfRange int          `json:"out_of_range"` // number of durations outside the range of the histograms

}

// TrialFigures holds the measured values of one trial, such as the goodput and the fairness index.
type TrialFigures struct {
	Dir      string  `json:"dir"`
	Sections int     `json:"sections"`
	Seconds  float64 `json:"seconds"` // duration from the first call to the last release
	Goodput  float64 `json:"goodput_per_second"`
	Jain     float64 `json:"jain"` // Jain's fairness index: 1 if all clients had equal shares, 1/n if one of n clients completed all critical sections, 0 if none was completed
	MinShare float64 `json:"min_share"`
	MaxShare float64 `json:"max_share"`
}

// Range holds the median, minimum and maximum of a value over trials.
type Range struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func rangeOf(values []float64) Range {
	if len(values) == 0 {
		return Range{}
	}
	return Range{Median: stats.Median(values), Low: slices.Min(values), High: slices.Max(values)}
}

// compared reports whether the figures may be compared with figures of other locks. They may if no fault was injected and the
// trials did not run in parallel.
func (m *Measurement) compared() bool { return m.Fault == "none" && !m.Concurrent }

// measure returns the measurement of a lock in one workload under one fault, computed from the judged trials. There must be at
// least one trial.
func measure(c Cell, trials []*trialRead) Measurement {
	h := trials[0].header
	m := Measurement{
		Dir: c.Dir, Lock: c.Lock, Deployment: c.Deployment, Workload: c.Workload, Fault: cmp.Or(c.Fault, "none"),
		Server: cmp.Or(trials[0].counters.Server, h.Server), Clients: h.Clients, Processes: h.Processes,
		Store: trials[0].counters.Store, Scenario: c.Scenario, Concurrent: c.Concurrent, Simulated: h.Simulated, TTLNS: int64(h.TTL), Recovery: recoveryOf(trials),
	}
	s := figures.NewSamples()
	var goodput, jain []float64
	for _, t := range trials {
		s.Merge(&t.stats.Samples)
		f := TrialFigures{Dir: t.Dir, Sections: t.stats.Sections, Seconds: t.stats.Seconds(), Goodput: t.stats.Goodput()}
		f.Jain, f.MinShare, f.MaxShare, _ = t.stats.Shares()
		m.Trials = append(m.Trials, f)
		if goodput = append(goodput, f.Goodput); f.Sections > 0 {
			jain = append(jain, f.Jain)
		}
		m.Sections += f.Sections
		m.Keys = max(m.Keys, t.stats.Keys)
		m.Longest = figures.Longer(m.Longest, t.stats.Longest)
		m.CutOff += t.stats.CutOff
		m.Reentries += t.stats.Reentries
		m.OutOfRange += t.stats.OutOfRange
	}
	m.Goodput, m.Jain = rangeOf(goodput), rangeOf(jain)
	for class, into := range map[figures.Class]*figures.Distribution{
		figures.Uncontended: &m.Uncontended, figures.Contended: &m.Contended, figures.Refusals: &m.Refused,
		figures.Unknowns: &m.Unknown, figures.HandOffs: &m.HandOff, figures.HoldTimes: &m.Hold,
	} {
		*into = figures.DistributionOf(s[class])
	}
	// Without a configured hold time, goodput depends mainly on the duration of a release. The measured hold time then
	// gives no useful limit for goodput, so Ceiling stays 0.
	if hold := s[figures.HoldTimes].ValueAtPercentile(50); m.Keys == 1 && hold > 0 && h.Params["hold"] != "0s" {
		m.Ceiling = 1e9 / float64(hold)
	}
	m.setCommands(trials)
	m.Network = networkOf(trials)
	return m
}

// setCommands sets the number of server commands per grant. It uses only trials whose servers count commands.
func (m *Measurement) setCommands(trials []*trialRead) {
	var commands float64
	grants := 0
	for _, t := range trials {
		n, why, ok := figures.Commands(t.counters.Before, t.counters.After)
		if !ok {
			m.CommandsWhy = why
			continue
		}
		commands += n
		grants += t.stats.Grants
	}
	if grants == 0 {
		m.CommandsWhy = cmp.Or(m.CommandsWhy, "nothing was granted")
		return
	}
	perGrant := commands / float64(grants)
	m.Commands, m.CommandsWhy = &perGrant, ""
}

// counters holds the content of counters.json: the counters of the servers before and after a trial. Before and After
// are empty if the servers have no counters.
type counters struct {
	Server  string             `json:"server"`
	Store   string             `json:"store"`
	Before  map[string]float64 `json:"before"`
	After   map[string]float64 `json:"after"`
	Network *Network           `json:"network"` // traffic counted by lockbench's proxy; nil if no proxy was used
}

// Network counts the traffic between clients and servers.
type Network struct {
	Commands   float64 `json:"commands"`
	RoundTrips float64 `json:"round_trips"` // number of round trips; commands sent together count once
	Sent       float64 `json:"sent"`        // number of bytes sent to the servers
	Received   float64 `json:"received"`    // number of bytes received from the servers
}

// networkOf returns the traffic per grant, or nil if no trial used a proxy of lockbench.
func networkOf(trials []*trialRead) *Network {
	var n Network
	grants := 0.0
	for _, t := range trials {
		if c := t.counters.Network; c != nil {
			n.Commands, n.RoundTrips = n.Commands+c.Commands, n.RoundTrips+c.RoundTrips
			n.Sent, n.Received = n.Sent+c.Sent, n.Received+c.Received
			grants += float64(t.stats.Grants)
		}
	}
	if grants == 0 {
		return nil
	}
	return &Network{n.Commands / grants, n.RoundTrips / grants, n.Sent / grants, n.Received / grants}
}
