package bench_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/gonum/floats"

	"lockbench/reports/bench"
)

// roundTrip is the round-trip time of the simulated store, in milliseconds.
const roundTrip = 0.12

// maker generates the data of one trial.
type maker struct {
	options
	s     bench.Subject
	p     bench.Point
	block int
}

// source returns a random source for one kind of value, such as "rate". The source depends on the kind and
// on the trial.
func (k maker) source(parts ...any) *rand.Rand {
	return k.random(append(parts, k.s.Name, k.p.ID, k.block)...)
}

// model describes the performance of a simulated lock.
type model struct {
	free     float64 // critical sections per second of 16 clients on 16 keys
	waste    float64 // fraction of the highest possible goodput that is lost
	uneven   float64 // relative standard deviation of the critical sections per client
	commands float64
}

func (k maker) model() model {
	log := math.Log2(float64(k.p.Clients))
	switch {
	case k.s.Name == "none":
		return model{free: 900_000}
	case k.s.Name == "bare":
		return model{free: 33_000, commands: 2}
	case k.s.Lock == "fenced":
		return model{free: 31_000, waste: 0.05, uneven: 0.01, commands: 5}
	case k.s.Lock == "set-px-lua":
		return model{free: 32_000, waste: 0.10 + 0.03*log, uneven: 0.2, commands: 3 + 2*log}
	case k.s.Name == "redsync":
		return model{free: 22_000, waste: 0.60 + 0.02*log, uneven: 0.5, commands: 3 + log}
	case k.s.Name == "redsync-tuned":
		return model{free: 22_000, waste: 0.25 + 0.03*log, uneven: 0.4, commands: 3 + 6*log}
	}
	return model{free: 35_000, waste: 0.02, uneven: 0.3, commands: 2}
}

func (k maker) trial() (*bench.Trial, error) {
	window := time.Duration(k.p.DurationNS)
	rate := k.goodput()
	sections := max(1, int(rate*window.Seconds()))
	t := &bench.Trial{
		Version: bench.Version, Dir: fmt.Sprintf("%s/%s/%03d", k.p.ID, k.s.Name, k.block), Subject: k.s.Name, Point: k.p.ID, Block: k.block,
		Seed: k.source("seed").Uint64() >> 11, WarmupNS: int64(200 * time.Millisecond), MeasuredNS: int64(window),
		Steady: k.block != 3 || k.s.Name != "redsync", Shares: k.shares(sections),
	}
	if k.s.Name == "fenced" && k.block < k.Discarded {
		t.Discarded = "the harness was stopped for 12 s"
	}
	t.Figures = k.figures(rate, t.Shares)
	if k.s.Role != bench.Baseline {
		t.Judged = k.judged(t.Dir, sections)
	}
	if k.OnlyFigures {
		return t, nil
	}
	t.Timeline = k.timeline(t.Figures)
	var err error
	t.Curves, err = k.curves(t.Figures, sections)
	return t, err
}

// goodput returns the goodput of the simulated lock. It includes random noise of the trial and of its block (round of
// trials).
func (k maker) goodput() float64 {
	m := k.model()
	rate := m.free
	switch {
	case k.p.HoldNS > 0 || k.p.Contended():
		hold := float64(k.p.HoldNS)/1e6 + roundTrip
		rate = 1000 / hold * float64(min(k.p.Clients, k.p.Keys)) * (1 - m.waste)
	case k.s.Role == bench.Delayed:
		rate = 1000 * float64(k.p.Clients) / (k.uncontended() + roundTrip)
	}
	lock := k.s.Name
	switch k.s.Role {
	case bench.Again, bench.Delayed, bench.Stalled:
		lock = k.s.Lock // a self-check has another name than the lock that it runs
	}
	if factor, ok := k.Factor[lock]; ok {
		rate *= factor
	}
	if k.s.Role == bench.Again && k.UnevenAgain {
		rate *= 0.8
	}
	if k.p.Fault != "none" {
		rate *= 0.7
	}
	return rate * k.mood() * math.Exp(0.015*k.source("rate").NormFloat64())
}

// mood returns a random factor for the performance. All trials of a block (round of trials) have the same factor.
func (k maker) mood() float64 { return math.Exp(0.05 * k.random("block", k.block).NormFloat64()) }

// uncontended returns the median latency of an uncontended acquire, in milliseconds.
func (k maker) uncontended() float64 {
	ms := 500 * 16 / k.model().free * math.Exp(0.02*k.source("free").NormFloat64())
	switch {
	case k.s.Role != bench.Delayed:
		return ms
	case k.WrongDelay:
		return ms + 2.5
	}
	return ms + 5
}

// shares returns the simulated number of critical sections of each client. Some clients starve: one of 64 clients of
// "redsync", and three clients of the lock named in options.Starve.
func (k maker) shares(sections int) []int {
	r, spread := k.source("shares"), k.model().uneven
	all := make([]int, k.p.Clients)
	for c := range all {
		all[c] = max(1, int(float64(sections)/float64(k.p.Clients)*(1+spread*r.NormFloat64())))
	}
	if k.s.Name == "redsync" && k.p.Clients == 64 {
		all[7] = 0
	}
	if k.s.Name == k.Starve {
		copy(all, []int{0, 0, 0})
	}
	return all
}

func (k maker) figures(rate float64, shares []int) bench.Figures {
	m, r := k.model(), k.source("figures")
	noise := func(v float64) float64 { return v * math.Exp(0.03*r.NormFloat64()) }
	f := bench.Figures{
		"goodput": rate, "late_p99": noise(0.08), "stall_max": noise(4), "processors": noise(2.1),
		"client_cpu": noise(14), "client_allocs": noise(31), "client_alloc_bytes": noise(1900),
	}
	if k.s.Role == bench.Baseline {
		f["round_trip_p50"] = noise(roundTrip)
	}
	if m.commands > 0 {
		f["commands"] = m.commands * math.Exp(0.005*r.NormFloat64())
		f["round_trips"], f["server_cpu"], f["server_bytes"] = noise(m.commands*0.8), noise(m.commands*4), noise(m.commands*90)
	}
	if k.s.Name != "none" {
		f["uncontended_p50"] = k.uncontended()
		f["uncontended_p99"] = noise(f["uncontended_p50"] * 3)
	}
	if k.p.Contended() { // metrics that exist only if clients share keys
		hold, round := float64(k.p.HoldNS)/1e6, 1000/rate*float64(k.p.Clients)
		f["hold_mean"] = noise(hold)
		// Divide by the random factor k.mood(), because rate contains this factor.
		f["utilisation"] = rate * (hold + roundTrip) / 1000 / k.mood()
		f["owner_changes"] = rate * 0.9
		f["contended_p50"], f["contended_p99"] = noise(round*0.9), noise(round*(1.2+6*m.uneven))
		f["handoff_p50"], f["handoff_p99"] = noise(roundTrip*(1+8*m.waste)), noise(roundTrip*(3+30*m.waste))
		f["wait_rounds"] = noise(1.2 + 8*m.uneven)
		f["longest_wait"] = f["wait_rounds"] * round
		f["bypassed"] = math.Round(noise(100 * m.uneven))
		f["attempts"] = noise(1 + m.waste*4)
	}
	parts := make([]float64, len(shares))
	for i, n := range shares {
		parts[i] = float64(n)
	}
	f["jain"] = floats.Sum(parts) * floats.Sum(parts) / (float64(len(parts)) * floats.Dot(parts, parts))
	f["min_max_share"] = slices.Min(parts) / slices.Max(parts)
	f["starved"] = float64(floats.Count(func(part float64) bool { return part == 0 }, parts))
	if k.s.Role == bench.Stalled && !k.UnseenStall {
		f["stall_max"], f["late_max"] = noise(201), noise(150)
	}
	return f
}

func (k maker) judged(dir string, sections int) *bench.Judged {
	sum := sha256.Sum256([]byte(dir))
	j := &bench.Judged{SHA256: hex.EncodeToString(sum[:]), Operations: 2 * sections}
	if k.block == 0 {
		j.History = dir + "/history.jsonl.zst"
	}
	caught := k.s.Role == bench.Control && k.p.Contended() && !k.BlindJudge
	if caught || slices.Contains(k.Unsafe, k.s.Name) && k.block == k.Blocks-1 {
		j.Violated = []bench.Violation{{Property: "mutual-exclusion", Text: "client 3 and client 7 held k0 at once for 0.84 ms", Expected: caught}}
	}
	return j
}

// curves returns histograms of random latencies around the median values of the trial.
func (k maker) curves(f bench.Figures, sections int) (bench.Curves, error) {
	free := sections // number of uncontended acquires
	if k.p.Contended() {
		free = sections/50 + 1
	}
	c := bench.Curves{}
	for _, class := range []struct {
		name, figure string
		spread       float64
		n            int
	}{
		{"uncontended", "uncontended_p50", 0.4, free},
		{"contended", "contended_p50", 0.3, sections},
		{"hand-off", "handoff_p50", 0.5, sections},
		{"hold", "hold_mean", 0.02, sections},
		{"late", "late_p99", 0.8, sections},
		{"round-trip", "round_trip_p50", 0.3, 2000},
	} {
		median, ok := f[class.figure]
		if !ok {
			continue
		}
		r, h := k.source("curve", class.name), hdrhistogram.New(1, int64(time.Hour), 3)
		for range min(class.n, 4000) { // 4000 samples are enough for the 99.9th percentile
			ms := median * math.Exp(class.spread*r.NormFloat64())
			if r.IntN(200) == 0 {
				ms *= 5 // make some samples slow, for a long tail
			}
			if err := h.RecordValue(int64(ms * 1e6)); err != nil {
				return nil, err
			}
		}
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, err
		}
		c[class.name] = string(text)
	}
	return c, nil
}

// timeline returns the acquires of the trial by time slice, including the warm-up. No acquire is granted during a
// fault, and acquires are slow right after the fault.
func (k maker) timeline(f bench.Figures) *bench.Timeline {
	const slice, from, to = 20 * time.Millisecond, 12, 19
	t := &bench.Timeline{SliceNS: int64(slice)}
	for ns := int64(10_000); ns <= int64(10*time.Second); ns = ns * 3162 / 1000 {
		t.Edges = append(t.Edges, ns)
	}
	faulty := k.p.Fault != "none"
	if faulty {
		t.Faults = []bench.Episode{{Name: k.p.Fault, FromNS: from * int64(slice), ToNS: to * int64(slice)}}
	}
	median, ok := f["contended_p50"]
	if !ok {
		median = max(f["uncontended_p50"], 0.001)
	}
	r := k.source("timeline")
	for at := range 35 {
		row, scale, grants := make([]int, len(t.Edges)), 1.0, min(200, int(f["goodput"]*slice.Seconds()))
		switch {
		case faulty && from <= at && at < to:
			grants = 0
		case faulty && at == to:
			scale = 8
		}
		for range grants {
			ns := int64(1e6 * scale * median * math.Exp(0.4*r.NormFloat64()))
			above := slices.IndexFunc(t.Edges, func(edge int64) bool { return edge > ns })
			if above < 0 {
				above = len(t.Edges)
			}
			row[max(0, above-1)]++
		}
		t.Counts = append(t.Counts, row)
	}
	return t
}
