package reports

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

func parseCounters(text []byte) (c counters, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("counters: %w", err)
	}
	return c, nil
}

// commands is how many commands the servers executed for the locks during the trial, those within scripts
// included. ok is false where it cannot be told, and why says why.
func (c counters) commands() (n float64, why string, ok bool) {
	if c.Before == nil || c.After == nil {
		return 0, "the server keeps no counters", false
	}
	for _, name := range slices.Sorted(maps.Keys(c.After)) {
		command, isCall := strings.CutPrefix(name, "calls.")
		if !isCall || overhead(command) {
			continue
		}
		delta := c.After[name] - c.Before[name]
		if delta < 0 {
			return 0, "the counters went backwards: a server was restarted", false
		}
		n += delta
	}
	return n, "", true
}

// overhead tells commands that a client library or lockbench sends on its own account, not for a lock.
func overhead(command string) bool {
	if command == "script|load" {
		return true
	}
	name, _, _ := strings.Cut(command, "|")
	switch name {
	case "info", "config", "ping", "hello", "client", "auth", "select", "command":
		return true
	}
	return false
}

// networked are the measurements in which a proxy counted.
func networked(all []Measurement) []Measurement {
	return slices.DeleteFunc(slices.Clone(all), func(m Measurement) bool { return m.Network == nil })
}
