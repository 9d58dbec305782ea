package properties

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// recentWrites is the maximum number of recent writes stored per key. They are stored to show both writes of a lost
// update.
const recentWrites = 4096

// integrity checks that no acknowledged write to a guarded resource is lost.
type integrity struct {
	monitor
	keys    projection.PerKey[guarded]
	stock   inventory
	acked   int
	unknown int
	finals  int // number of keys whose final value was read
	tokens  int // number of operations whose token the resource should check
}

type guarded struct {
	initial  int64
	final    int64
	read     bool // whether the final value was read
	notByOne bool // a write did not store the client's last read value plus one, so the final value is unpredictable
	acked    int64
	unknown  int64
	reads    map[int32]histories.Op // last read that no write has followed, by client
	written  pages                  // for each value, the number of the first hold that read this value and then replaced it
	recent   map[int64]update       // latest update (a read and the write based on it), by the value read
	bases    []int64                // keys of the map recent, in insertion order; when the map is full, the oldest entry is deleted
	last     histories.Op
	writing  map[int32]bool // clients with a write that has not returned
	register register
}

type update struct{ read, write histories.Op }

// stale returns the time during which both clients had read the same value and neither had written. If there was no
// such time, it returns the times of the two writes.
func (u update) stale(second update) (from, to time.Duration) {
	from, to = max(u.read.Return, second.read.Return), min(u.write.Call, second.write.Call)
	if from < to {
		return from, to
	}
	return u.write.Call, second.write.Return
}

func (x *integrity) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Read && op.Kind != histories.Write && op.Kind != histories.Append {
		return
	}
	g := x.keys.Of(k)
	if !ev.Return {
		x.called(g, op)
		return
	}
	delete(g.writing, op.Client)
	// An earlier operation with a higher token means that the resource should have refused op.
	before, counts := g.register.handleReturn(op, x.Header.Params["register"])
	if counts {
		x.tokens++
	}
	if before != nil && x.countViolation() {
		x.show(k.Name, op.Call, op.Return, []histories.Op{*before, *op},
			"the resource of %s had accepted a %s by %s with token %d at %s; it accepted a %s by %s that was sent after that, at %s, with token %d, which is lower.",
			k.Name, before.Kind, before, before.Fence, before.Return, op.Kind, op, op.Call, op.Fence)
	}
	switch {
	case op.Client == histories.Harness:
		x.byHarness(g, op)
		x.stock.byHarness(op)
	case op.Kind == histories.Append:
		x.stock.order(op)
	case op.Kind == histories.Read && op.Outcome == histories.OK:
		if g.reads == nil {
			g.reads = map[int32]histories.Op{}
		}
		g.reads[op.Client] = *op
	case op.Kind == histories.Write && op.Outcome == histories.OK:
		g.acked++
		x.acked++
		g.last = *op
		x.checkBase(k, g, op)
	case op.Kind == histories.Write && op.Outcome == histories.Unknown:
		g.unknown++
		x.unknown++
	}
}

func (x *integrity) called(g *guarded, op *histories.Op) {
	if op.Kind == histories.Write && op.Client != histories.Harness {
		if g.writing == nil {
			g.writing = map[int32]bool{}
		}
		g.writing[op.Client] = true
	}
	if x.Header.Params["register"] != "" {
		g.register.called(op)
	}
}

func (x *integrity) byHarness(g *guarded, op *histories.Op) {
	switch {
	case op.Outcome != histories.OK:
	case op.Kind == histories.Write:
		*g = guarded{initial: op.Value, writing: g.writing, register: g.register}
	default:
		g.final, g.read = op.Value, true
	}
}

// checkBase finds the read from whose value a client computed a write. It reports a violation if an earlier
// write was computed from the same value.
func (x *integrity) checkBase(k *projection.Key, g *guarded, write *histories.Op) {
	read, ok := g.reads[write.Client]
	if !ok || read.Hold != write.Hold {
		g.notByOne = true
		return
	}
	delete(g.reads, write.Client)
	base := read.Value
	g.notByOne = g.notByOne || write.Value != base+1
	hold := write.Hold
	if hold == 0 {
		hold = int64(x.acked)
	}
	if before := g.written.element(base); *before != 0 {
		if x.countViolation() {
			x.lost(k, g, base, update{read, *write})
		}
	} else {
		*before = hold
	}
	if g.recent == nil {
		g.recent = map[int64]update{}
	}
	if _, known := g.recent[base]; !known {
		if len(g.bases) >= recentWrites {
			delete(g.recent, g.bases[0])
			g.bases = g.bases[1:]
		}
		g.bases = append(g.bases, base)
	}
	g.recent[base] = update{read, *write}
}

func (x *integrity) lost(k *projection.Key, g *guarded, base int64, second update) {
	w := &second.write
	first, ok := g.recent[base]
	if !ok {
		x.show(k.Name, w.Call, w.Return, []histories.Op{second.read, *w},
			"%s wrote %d to %s at %s, based on a read of %d; hold %d had written from that same value long before: one of the two acknowledged updates is lost.",
			w, w.Value, k.Name, w.Return, base, *g.written.element(base))
		return
	}
	from, to := first.stale(second)
	x.show(k.Name, from, to, []histories.Op{first.read, first.write, second.read, *w},
		"%s read %d of %s at %s and wrote %d at %s; %s had read the same %d at %s and wrote %d at %s: one of the two acknowledged updates is lost.",
		&first.write, base, k.Name, first.read.Return, first.write.Value, first.write.Return, w, base, second.read.Return, w.Value, w.Return)
}

func (x *integrity) Finding() checker.Finding {
	for i := range x.keys {
		x.atEnd(&x.keys[i])
	}
	x.stock.atEnd()
	x.violations += x.stock.violations
	if x.witness == nil {
		x.witness = x.stock.witness
	}
	evidence := fmt.Sprintf("%s acknowledged, the final value of %s read", checker.Count(x.acked, "write"), checker.Count(x.finals, "key"))
	if x.stock.orders+x.stock.soldOut > 0 {
		evidence += fmt.Sprintf("; %s, %d times sold out", checker.Count(x.stock.orders, "order"), x.stock.soldOut)
	}
	if x.tokens > 0 {
		evidence += fmt.Sprintf("; %s bore a token that the resource checks", checker.Count(x.tokens, "operation"))
	}
	if n := x.Counts.Stale; n > 0 {
		evidence += fmt.Sprintf("; %s refused by the resource", checker.Count(n, "stale operation"))
	}
	return x.finding(evidence,
		reason{x.acked+x.unknown+x.stock.orders == 0, checker.NotApplicable, "nothing was written"})
}

// atEnd compares the final value of a counter with the number of acknowledged writes. Writes that never returned may
// have taken effect.
func (x *integrity) atEnd(g *guarded) {
	g.unknown += int64(len(g.writing))
	x.unknown += len(g.writing)
	if !g.read {
		return
	}
	x.finals++
	low := g.initial + g.acked
	if g.notByOne || g.final >= low && g.final <= low+g.unknown {
		return
	}
	if x.countViolation() {
		x.show(g.last.Key, g.last.Call, x.Until, []histories.Op{g.last},
			"%s was %d at the end; it began at %d, %d increments were acknowledged and %d may have taken effect, so it should be %d to %d.",
			g.last.Key, g.final, g.initial, g.acked, g.unknown, low, low+g.unknown)
	}
}

// pages is a sparse array of hold numbers. It allocates blocks of 512 numbers.
type pages struct{ of map[int64]*[512]int64 }

func (p *pages) element(i int64) *int64 {
	if p.of == nil {
		p.of = map[int64]*[512]int64{}
	}
	page, ok := p.of[i>>9]
	if !ok {
		page = new([512]int64)
		p.of[i>>9] = page
	}
	return &page[i&511]
}
