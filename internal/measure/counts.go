package measure

import (
	"context"
	"runtime/metrics"
	"time"

	"lockbench/impls"
	"lockbench/impls/waiting"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/figures"
)

// counts holds sums by metric name. Processor times are in microseconds. A metric that was not counted is absent.
type counts map[string]float64

// reading holds the values of all counters at one time.
type reading struct {
	at      time.Duration // time since the start of the history
	wall    time.Time
	granted int64
	server  map[string]float64 // counters of the servers; nil if the servers have no counters
	counts
}

func (r reading) subtract(before reading) counts {
	d := counts{}
	for metric, n := range r.counts {
		if from, ok := before.counts[metric]; ok {
			d[metric] = n - from
		}
	}
	if n, _, ok := figures.Commands(before.server, r.server); ok {
		d["commands"] = n
	}
	return d
}

// meter reads the counters of a running trial.
type meter struct {
	network *network
	tally   *impls.Tally
}

func (m meter) read(ctx context.Context, r trial.Running) (reading, error) {
	now, err := readServers(ctx, r.Group)
	if err != nil {
		return now, err
	}
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	attempts, wasted := m.tally.Counts()
	now.counts["client_allocs"], now.counts["client_alloc_bytes"] = float64(samples[0].Value.Uint64()), float64(samples[1].Value.Uint64())
	now.counts["client_cpu"] = microseconds(ownProcessorTime())
	now.counts["round_trips"], now.counts["server_bytes"] = float64(m.network.roundTrips.Load()), float64(m.network.bytes.Load())
	now.counts["attempts"], now.counts["wasted_wakeups"] = float64(attempts), float64(wasted)
	now.granted = r.Granted.Load()
	now.at, now.wall = r.Since(), time.Now()
	return now, nil
}

// readServers reads the counters and the processor time of a group of servers. It prefers the processor time that the server
// reports, because the value of the operating system is less precise. An emulator provides neither counters nor processor
// time.
func readServers(ctx context.Context, g *servers.Group) (now reading, err error) {
	if now.server, err = trial.Counters(ctx, g); err != nil {
		return now, err
	}
	now.wall, now.counts = time.Now(), counts{}
	if user, ok := now.server["used_cpu_user"]; ok {
		now.counts["server_cpu"] = 1e6 * (user + now.server["used_cpu_sys"])
	} else if took, err := g.ProcessorTime(); err == nil && now.server != nil { // ProcessorTime fails for remote servers
		now.counts["server_cpu"] = microseconds(took)
	}
	return now, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

// idle describes the background activity of an unused server. Each counter grows by a fixed amount in each measurement
// (field fixed), and by an amount in each second (field perSecond).
type idle struct{ fixed, perSecond counts }

// idleFor is the time for which watchIdle measures the background activity of an unused server.
const idleFor = 100 * time.Millisecond

// watchIdle measures the background activity of servers while no client uses them.
func watchIdle(ctx context.Context, g *servers.Group) (idle, error) {
	var all [3]reading
	for i := range all {
		if i == 2 && !waiting.Pause(ctx, idleFor) {
			return idle{}, ctx.Err()
		}
		var err error
		if all[i], err = readServers(ctx, g); err != nil {
			return idle{}, err
		}
	}
	fixed, perSecond := all[1].subtract(all[0]), counts{}
	for metric, n := range all[2].subtract(all[1]) {
		perSecond[metric] = max(0, n-fixed[metric]) / all[2].wall.Sub(all[1].wall).Seconds()
	}
	return idle{fixed, perSecond}, nil
}

// subtractFrom subtracts the background activity of a server during a window from the used counts. It changes the map and returns
// it.
func (i idle) subtractFrom(used counts, window time.Duration) counts {
	for metric, fixed := range i.fixed {
		if n, ok := used[metric]; ok {
			used[metric] = max(0, n-fixed-i.perSecond[metric]*window.Seconds())
		}
	}
	return used
}
