package figures

import (
	"maps"
	"slices"
	"strings"
)

// Commands returns how many commands servers executed for locks between two readings of their counters, scripts' own
// commands included. If ok is false, why says why it cannot be told.
func Commands(before, after map[string]float64) (n float64, why string, ok bool) {
	if before == nil || after == nil {
		return 0, "the server keeps no counters", false
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		command, isCall := strings.CutPrefix(name, "calls.")
		if !isCall || overhead(command) {
			continue
		}
		delta := after[name] - before[name]
		if delta < 0 {
			return 0, "the counters went backwards: a server was restarted", false
		}
		n += delta
	}
	return n, "", true
}

// overhead reports whether a client library or lockbench sends the command on its own account, not for a lock.
func overhead(command string) bool {
	name, _, _ := strings.Cut(command, "|")
	switch name {
	case "info", "config", "ping", "hello", "client", "auth", "select", "command":
		return true
	}
	return command == "script|load"
}
