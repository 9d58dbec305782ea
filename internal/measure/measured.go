package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/drive/trial"
	"lockbench/internal/world/servers"
	"lockbench/reports/bench"
	"lockbench/reports/figures"
	"lockbench/reports/run"
)

// measured makes a trial's figures of its record, as it was read back from the disk, and of what was counted beside it.
// roundTrip is the one of the block; 0: none was measured.
func measured(dir string, out trial.Outcome, point bench.Point, p *pace, i idle, roundTrip time.Duration, t *bench.Trial) error {
	window := figures.Window{}
	if p != nil {
		if p.err != nil {
			return p.err
		}
		window = figures.Window{From: p.before.at, To: p.after.at}
		t.WarmupNS, t.FromNS, t.MeasuredNS, t.Steady = int64(p.warmup), int64(window.From), int64(window.To-window.From), p.steady
	}
	file := filepath.Join(out.Dir, "history.jsonl.zst")
	r, err := histories.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	line := newTimeline(point.Clients, time.Duration(t.WarmupNS)+time.Duration(point.DurationNS))
	stats, err := figures.Of(&r.Header, r.Next, window, line.visit)
	if err != nil {
		return err
	}
	if p == nil {
		t.MeasuredNS = int64(stats.Last - stats.First)
	}
	if t.Judged, err = judged(dir, file, out); err != nil {
		return err
	}
	t.Figures, t.Shares = ofHistory(stats, point, roundTrip), stats.PerClient
	t.Figures["stall_max"] = milliseconds(out.Verdict.MaxStall)
	if late := stats.Samples[figures.Late]; late.TotalCount() > 0 {
		t.Figures["late_max"] = milliseconds(time.Duration(late.Max()))
	}
	if p != nil {
		p.figures(t.Figures, stats, i)
	}
	if t.Block == 0 || point.Fault != "none" {
		t.Timeline = line.timeline(out.Verdict)
	}
	t.Curves, err = curves(stats, point)
	return err
}

// judged is what became of the history, which is summed as it lies on the disk.
func judged(dir, file string, out trial.Outcome) (*bench.Judged, error) {
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return nil, err
	}
	sum, err := run.SumFile(dir, filepath.ToSlash(name))
	if err != nil {
		return nil, err
	}
	j := &bench.Judged{History: sum.Path, SHA256: sum.SHA256,
		Operations: out.Verdict.Counts.Operations, Disagree: len(out.Verdict.Oracle.Disagreements) > 0}
	for _, f := range out.Verdict.Findings {
		switch claim := out.Header.Claim(f.Property); {
		case f.Observed == checker.Violated:
			j.Violated = append(j.Violated, bench.Violation{Property: f.Property, Text: told(f), Expected: claim.Expected == histories.Breaks})
		case f.Observed == checker.Undecided && claim.Expected == histories.Holds:
			j.Undecided = append(j.Undecided, f.Property)
		}
	}
	return j, nil
}

// told says in a sentence what was seen.
func told(f checker.Finding) string {
	if f.Witness != nil {
		return f.Witness.Story
	}
	return f.Evidence
}

// ofHistory are the figures that the record alone tells.
func ofHistory(s *figures.Stats, point bench.Point, roundTrip time.Duration) bench.Figures {
	f := bench.Figures{"goodput": s.Goodput(), "starved": 0, "bypassed": float64(s.Bypassed)}
	length := s.Seconds()
	if length > 0 {
		f["owner_changes"] = float64(s.OwnerChanges) / length
		f[givenUp(point)] = float64(s.Samples[figures.Refusals].TotalCount()) / length
	}
	if s.Sections > 0 {
		ofSections(f, s, point, roundTrip)
	}
	for _, n := range s.PerClient {
		if n == 0 {
			f["starved"]++
		}
	}
	if s.Longest.Ended != "" {
		f["longest_wait"] = float64(s.Longest.NS) / 1e6
		if rate := s.Goodput(); rate > 0 && point.Contended() {
			f["wait_rounds"] = float64(s.Longest.NS) / 1e9 * rate / float64(point.Clients)
		}
	}
	for _, c := range []struct {
		name  string
		class figures.Class
	}{{"uncontended", figures.Uncontended}, {"contended", figures.Contended}, {"handoff", figures.HandOffs}, {"late", figures.Late}} {
		percentiles(f, c.name, s.Samples[c.class])
	}
	return f
}

// givenUp is what a refusal is called: of those who try once it is an answer, of those who wait the end of patience.
func givenUp(point bench.Point) string {
	if point.Workload == "try" {
		return "refused"
	}
	return "timed_out"
}

// ofSections are the figures of critical sections, of which there were some.
func ofSections(f bench.Figures, s *figures.Stats, point bench.Point, roundTrip time.Duration) {
	f["jain"], _, _, _ = s.Shares()
	f["min_max_share"] = float64(slices.Min(s.PerClient)) / float64(slices.Max(s.PerClient))
	mean := s.Held / time.Duration(s.Sections)
	f["hold_mean"] = milliseconds(mean)
	if s.Held > 0 {
		f["renewals"] = float64(s.Renewals) / s.Held.Seconds()
	}
	if point.HoldNS > 0 && roundTrip > 0 {
		f["utilisation"] = s.Goodput() * (mean + roundTrip).Seconds() / float64(min(point.Clients, point.Keys))
	}
}

// percentiles are those that are metrics and have enough samples behind them.
func percentiles(f bench.Figures, name string, h *hdrhistogram.Histogram) {
	for _, p := range []struct {
		name string
		rank float64
	}{{"_p50", 0.5}, {"_p99", 0.99}} {
		if _, metric := bench.FindMetric(name + p.name); metric && h.TotalCount() >= figures.SamplesFor(p.rank) {
			f[name+p.name] = float64(h.ValueAtPercentile(100*p.rank)) / 1e6
		}
	}
}

// curves are the distributions that have samples.
func curves(s *figures.Stats, point bench.Point) (bench.Curves, error) {
	names := map[figures.Class]string{figures.Uncontended: "uncontended", figures.Contended: "contended", figures.Unknowns: "unknown",
		figures.HandOffs: "hand-off", figures.HoldTimes: "hold", figures.Late: "late", figures.Refusals: "timed-out"}
	if point.Workload == "try" {
		names[figures.Refusals] = "refused"
	}
	all := bench.Curves{}
	for class, name := range names {
		h := s.Samples[class]
		if h.TotalCount() == 0 {
			continue
		}
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("the histogram %s: %w", name, err)
		}
		all[name] = string(text)
	}
	return all, nil
}

// figures are those that were counted beside the record, by what was granted meanwhile.
func (p *pace) figures(f bench.Figures, s *figures.Stats, i idle) {
	counted(f, p.before, p.after, i, float64(s.Grants))
	asked := p.after.attempts - p.before.attempts
	if asked == 0 || s.Grants == 0 {
		return // it does not tell
	}
	f["attempts"] = float64(asked) / float64(s.Grants)
	if p.wakes {
		f["wasted_wakeups"] = float64(p.after.wasted-p.before.wasted) / float64(max(1, s.Sections))
	}
}

// counted are the figures of two readings: each grant's part of what was used in between.
func counted(f bench.Figures, before, after reading, i idle, grants float64) {
	window := after.wall.Sub(before.wall)
	server := after.since(before).less(i, window)
	busy := after.clientCPU - before.clientCPU + server.cpu
	f["processors"] = busy.Seconds() / window.Seconds()
	if grants == 0 {
		return
	}
	if server.counts {
		f["commands"] = server.commands / grants
	}
	if server.told {
		f["server_cpu"] = float64(server.cpu.Microseconds()) / grants
	}
	if n := after.roundTrips - before.roundTrips; n > 0 {
		f["round_trips"] = float64(n) / grants
		f["server_bytes"] = float64(after.bytes-before.bytes) / grants
	}
	f["client_cpu"] = float64((after.clientCPU - before.clientCPU).Microseconds()) / grants
	f["client_allocs"] = float64(after.objects-before.objects) / grants
	f["client_alloc_bytes"] = float64(after.allocated-before.allocated) / grants
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

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
