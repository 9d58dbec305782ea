package measure

import (
	"context"
	"runtime/metrics"
	"time"

	"lockbench/impls"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/figures"
)

// reading is what everything that counts says at one moment. What happened in between is the difference of two.
type reading struct {
	at         time.Duration // of the trial's history
	wall       time.Time
	granted    int64
	server     map[string]float64 // nil: it does not count
	serverCPU  time.Duration      // < 0: nobody tells
	clientCPU  time.Duration
	objects    uint64 // allocated
	allocated  uint64 // bytes
	roundTrips int64
	bytes      int64
	attempts   int64
	wasted     int64
}

// meter reads.
type meter struct {
	network *network
	tally   *impls.Tally
}

func (m meter) read(ctx context.Context, r trial.Running) (reading, error) {
	var now reading
	var err error
	if len(r.Group.Nodes) > 0 {
		if now.server, now.serverCPU, err = readServers(ctx, r.Group); err != nil {
			return now, err
		}
	}
	now.objects, now.allocated = allocations()
	now.clientCPU = ownProcessorTime()
	now.roundTrips, now.bytes = m.network.roundTrips.Load(), m.network.bytes.Load()
	now.attempts, now.wasted = m.tally.Counts()
	now.granted = r.Granted.Load()
	now.at, now.wall = r.Since(), time.Now()
	return now, nil
}

// readServers are a group's counters and its processor time: by its own account, which is the finer, or the system's.
func readServers(ctx context.Context, g *servers.Group) (map[string]float64, time.Duration, error) {
	counters, err := trial.Counters(ctx, g)
	if err != nil {
		return nil, 0, err
	}
	if user, ok := counters["used_cpu_user"]; ok {
		return counters, seconds(user + counters["used_cpu_sys"]), nil
	}
	took, err := g.ProcessorTime()
	if err != nil {
		return counters, -1, nil // not ours
	}
	return counters, took, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func allocations() (objects, bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// used is what a server did between two readings.
type used struct {
	commands     float64
	counts, told bool // its commands; its processor time
	cpu          time.Duration
}

func (r reading) since(before reading) (u used) {
	u.commands, _, u.counts = figures.Commands(before.server, r.server)
	if r.serverCPU >= 0 && before.serverCPU >= 0 && r.server != nil {
		u.cpu, u.told = r.serverCPU-before.serverCPU, true
	}
	return u
}

// idle is what a server does by itself and for being asked for its counters: a fixed part of each pair of readings, and
// a part that grows with the time between them.
type idle struct {
	fixed                  used
	commandsPerS, cpuSPerS float64
}

// idleFor is how long a server is watched that nobody uses.
const idleFor = 100 * time.Millisecond

// watchIdle looks at a group that nobody uses.
func watchIdle(ctx context.Context, g *servers.Group) (idle, error) {
	var all [3]reading
	for i := range all {
		if i == 2 && !wait(ctx, idleFor) {
			return idle{}, ctx.Err()
		}
		var err error
		if all[i].server, all[i].serverCPU, err = readServers(ctx, g); err != nil {
			return idle{}, err
		}
		all[i].wall = time.Now()
	}
	fixed, long := all[1].since(all[0]), all[2].since(all[1])
	window := all[2].wall.Sub(all[1].wall).Seconds()
	return idle{
		fixed:        fixed,
		commandsPerS: max(0, long.commands-fixed.commands) / window,
		cpuSPerS:     max(0, long.cpu-fixed.cpu).Seconds() / window,
	}, nil
}

// less returns what is left when the server's own part over a time is taken off.
func (u used) less(i idle, window time.Duration) used {
	s := window.Seconds()
	u.commands = max(0, u.commands-i.fixed.commands-i.commandsPerS*s)
	u.cpu = max(0, u.cpu-i.fixed.cpu-seconds(i.cpuSPerS*s))
	return u
}
