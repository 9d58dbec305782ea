package run

import "slices"

// counters is a trial's counters.json: what the servers counted before and after. Before and After are
// empty where the servers count nothing.
type counters struct {
	Server  string             `json:"server"`
	Store   string             `json:"store"`
	Before  map[string]float64 `json:"before"`
	After   map[string]float64 `json:"after"`
	Network *Network           `json:"network"` // what the harness's own proxy counted over the workload; nil where there was none
}

// Network is what went between clients and servers.
type Network struct {
	Commands   float64 `json:"commands"`
	RoundTrips float64 `json:"round_trips"` // commands that were sent together are one
	Sent       float64 `json:"sent"`        // bytes to the servers
	Received   float64 `json:"received"`    // bytes from them
}

// networkOf is per grant, over the trials in which a proxy counted.
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

// networked are the measurements in which a proxy counted.
func networked(all []figureRow) []figureRow {
	return slices.DeleteFunc(slices.Clone(all), func(m figureRow) bool { return m.Network == nil })
}
