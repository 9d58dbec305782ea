package benchtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"lockbench/reports/bench"
)

// model is how a subject behaves: its cost without contention, and how it shares a contended key.
type model struct {
	free     float64 // sections per second of 16 clients on keys of their own
	waste    float64 // of the ceiling, by all clients together
	uneven   float64 // spread of the sections per client
	commands float64
}

func modelOf(s bench.Subject, p bench.Point) model {
	log := math.Log2(float64(p.Clients))
	switch {
	case s.Name == "none":
		return model{free: 900_000}
	case s.Name == "bare":
		return model{free: 33_000, commands: 2}
	case s.Lock == "fenced":
		return model{free: 31_000, waste: 0.05, uneven: 0.01, commands: 5}
	case s.Lock == "set-px-lua":
		return model{free: 32_000, waste: 0.10 + 0.03*log, uneven: 0.2, commands: 3 + 2*log}
	case s.Name == "redsync":
		return model{free: 22_000, waste: 0.60 + 0.02*log, uneven: 0.5, commands: 3 + log}
	case s.Name == "redsync-tuned":
		return model{free: 22_000, waste: 0.25 + 0.03*log, uneven: 0.4, commands: 3 + 6*log}
	}
	return model{free: 35_000, waste: 0.02, uneven: 0.3, commands: 2}
}

// roundTrip is of the store that is imagined, in milliseconds.
const roundTrip = 0.12

func trial(o Options, p *bench.Plan, pair bench.Pair, block int) (*bench.Trial, error) {
	s, pt := p.Subjects[pair.Subject], p.Points[pair.Point]
	window := time.Duration(pt.DurationNS)
	rate := goodput(o, s, pt, block)
	sections := max(1, int(rate*window.Seconds()))
	t := &bench.Trial{
		Version: bench.Version, Dir: fmt.Sprintf("%s/%s/%03d", pt.ID, s.Name, block), Subject: s.Name, Point: pt.ID, Block: block,
		Seed: random(o, "seed", s.Name, pt.ID, block).Uint64() >> 11, WarmupNS: int64(200 * time.Millisecond), MeasuredNS: int64(window),
		Steady: block != 3 || s.Name != "redsync",
	}
	if s.Name == "fenced" && block < o.Void {
		t.Void = "the harness itself stood still for 12 s"
	}
	t.Shares = shares(o, s, pt, block, sections)
	t.Figures = figures(o, s, pt, block, rate, t.Shares)
	if s.Role != bench.Floor {
		t.Judged = judged(o, s, pt, block, sections)
	}
	if o.OnlyFigures {
		return t, nil
	}
	t.Timeline = timeline(o, s, pt, block, t.Figures)
	var err error
	t.Curves, err = curves(o, s, pt, block, t.Figures, sections)
	return t, err
}

// goodput is that of the model, times what the whole block has in common, times a noise of the trial's own.
func goodput(o Options, s bench.Subject, p bench.Point, block int) float64 {
	m := modelOf(s, p)
	rate := m.free
	switch {
	case p.HoldNS > 0 || p.Contended():
		hold := float64(p.HoldNS)/1e6 + roundTrip
		rate = 1000 / hold * float64(min(p.Clients, p.Keys)) * (1 - m.waste)
	case s.Role == bench.Delayed:
		rate = 1000 * float64(p.Clients) / (uncontended(o, s, p, block) + roundTrip)
	}
	if factor, ok := o.Factor[lockOf(s)]; ok {
		rate *= factor
	}
	if s.Role == bench.Again && o.UnevenAgain {
		rate *= 0.8
	}
	if p.Fault != "none" {
		rate *= 0.7
	}
	return rate * mood(o, block) * math.Exp(0.015*random(o, "rate", s.Name, p.ID, block).NormFloat64())
}

// mood is what all trials of a block have in common.
func mood(o Options, block int) float64 {
	return math.Exp(0.05 * random(o, "block", block).NormFloat64())
}

// lockOf is the subject that a control is made of.
func lockOf(s bench.Subject) string {
	switch s.Role {
	case bench.Again, bench.Delayed, bench.Stalled:
		return s.Lock
	}
	return s.Name
}

// uncontended is the median latency, in milliseconds, where nobody else asks.
func uncontended(o Options, s bench.Subject, p bench.Point, block int) float64 {
	m := modelOf(s, p)
	ms := 500 * 16 / m.free * math.Exp(0.02*random(o, "free", s.Name, p.ID, block).NormFloat64())
	if s.Role != bench.Delayed {
		return ms
	}
	if o.WrongDelay {
		return ms + 2.5
	}
	return ms + 5
}

// shares deals the sections out to the clients; one of redsync's gets none at 64.
func shares(o Options, s bench.Subject, p bench.Point, block, sections int) []int {
	r := random(o, "shares", s.Name, p.ID, block)
	spread := modelOf(s, p).uneven
	all := make([]int, p.Clients)
	for c := range all {
		all[c] = max(0, int(float64(sections)/float64(p.Clients)*(1+spread*r.NormFloat64())))
	}
	if s.Name == "redsync" && p.Clients == 64 {
		all[7] = 0
	}
	return all
}

func figures(o Options, s bench.Subject, p bench.Point, block int, rate float64, shares []int) bench.Figures {
	r := random(o, "figures", s.Name, p.ID, block)
	noise := func(v float64) float64 { return v * math.Exp(0.03*r.NormFloat64()) }
	m := modelOf(s, p)
	f := bench.Figures{
		"goodput": rate, "late_p99": noise(0.08), "stall_max": noise(4), "processors": noise(2.1),
		"client_cpu": noise(14), "client_allocs": noise(31), "client_alloc_bytes": noise(1900),
	}
	if s.Role == bench.Floor {
		f["round_trip_p50"] = noise(roundTrip)
	}
	if m.commands > 0 {
		f["commands"], f["round_trips"], f["server_cpu"], f["server_bytes"] = m.commands*math.Exp(0.005*r.NormFloat64()), noise(m.commands*0.8), noise(m.commands*4), noise(m.commands*90)
	}
	if s.Name != "none" {
		f["uncontended_p50"] = uncontended(o, s, p, block)
		f["uncontended_p99"] = noise(f["uncontended_p50"] * 3)
	}
	if p.Contended() {
		contend(f, noise, m, p, rate)
		f["utilisation"] /= mood(o, block) // the round trip of a block has its mood too
	}
	share(f, shares)
	if s.Role == bench.Stalled && !o.UnseenStall {
		f["stall_max"] = noise(201)
		f["late_max"] = noise(150)
	}
	return f
}

// contend adds what there is only where clients want the same key.
func contend(f bench.Figures, noise func(float64) float64, m model, p bench.Point, rate float64) {
	hold := float64(p.HoldNS) / 1e6
	round := 1000 / rate * float64(p.Clients)
	f["hold_mean"] = noise(hold)
	f["utilisation"] = rate * (hold + roundTrip) / 1000
	f["owner_changes"] = rate * 0.9
	f["contended_p50"], f["contended_p99"] = noise(round*0.9), noise(round*(1.2+6*m.uneven))
	f["handoff_p50"], f["handoff_p99"] = noise(roundTrip*(1+8*m.waste)), noise(roundTrip*(3+30*m.waste))
	f["wait_rounds"] = noise(1.2 + 8*m.uneven)
	f["longest_wait"] = f["wait_rounds"] * round
	f["bypassed"] = math.Round(noise(100 * m.uneven))
	f["attempts"] = noise(1 + m.waste*4)
}

func share(f bench.Figures, shares []int) {
	var sum, squares float64
	nothing := 0
	for _, n := range shares {
		sum += float64(n)
		squares += float64(n) * float64(n)
		if n == 0 {
			nothing++
		}
	}
	f["jain"] = sum * sum / (float64(len(shares)) * squares)
	f["min_max_share"] = float64(slices.Min(shares)) / float64(slices.Max(shares))
	f["starved"] = float64(nothing)
}

func judged(o Options, s bench.Subject, p bench.Point, block, sections int) *bench.Judged {
	dir := fmt.Sprintf("%s/%s/%03d", p.ID, s.Name, block)
	sum := sha256.Sum256([]byte(dir))
	j := &bench.Judged{SHA256: hex.EncodeToString(sum[:]), Operations: 2 * sections}
	if block == 0 {
		j.History = dir + "/history.jsonl.zst"
	}
	overlap := bench.Violation{Property: "mutual-exclusion", Text: "client 3 and client 7 held k0 at once for 0.84 ms"}
	if s.Role == bench.Control && p.Contended() && !o.BlindJudge {
		overlap.Expected = true
		j.Violated = append(j.Violated, overlap)
	}
	if slices.Contains(o.Unsafe, s.Name) && block == o.Blocks-1 {
		j.Violated = append(j.Violated, overlap)
	}
	return j
}
