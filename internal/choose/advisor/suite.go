package advisor

import (
	"strings"
	"time"

	"lockbench/internal/measure/suites"
	"lockbench/reports/selection"
)

// What a bench of an advice takes at most: a point with longer holds takes longer, and says no more of a lock, since a
// period is the hold and what the lock adds to it.
const (
	longestHold = 5 * time.Millisecond
	mostClients = 64
	fewestTurns = 8 // of every client, in the window of a trial
)

// Suite is what is measured of options: the lock that everybody wants, and a lock for each.
func Suite(n selection.Needs, options []selection.Option) suites.Suite {
	var locks []suites.Lock
	for _, o := range options {
		if o.Kind == selection.ALock {
			name, on, _ := strings.Cut(o.Name, "@")
			locks = append(locks, suites.Lock{Name: name, Deployment: on})
		}
	}
	clients := min(max(n.Clients, 2), mostClients)
	return suites.Suite{
		Name: "advice", Doc: "what the selection report compares, at the point of the needs",
		Trials: 8, MaxTrials: 8, Narrow: 0.05, Budget: 80 * time.Second, Seed: 1,
		Sections: []suites.Section{
			{Name: "apart", Locks: locks, Clients: []int{min(clients, 16)}, Keys: []suites.Keys{suites.OneEach}, Duration: 200 * time.Millisecond},
			{Name: "together", Locks: locks, Clients: []int{clients}, Hold: []time.Duration{min(n.Hold.P50, longestHold)}, Rounds: fewestTurns, Duration: 250 * time.Millisecond},
		},
	}.Filled()
}
