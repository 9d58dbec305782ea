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
	Server string             `json:"server"`
	Before map[string]float64 `json:"before"`
	After  map[string]float64 `json:"after"`
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
