package checker

import (
	"fmt"
	"time"

	"lockbench/histories"
)

// newRenewal judges that a lease is moved on only while it is held, and in time.
func newRenewal(f *facts) judgement {
	return &renewals{facts: f, held: map[*hold]*lease{}}
}

type renewals struct {
	*facts
	held     map[*hold]*lease
	answers  [3]int // by outcome
	least    time.Duration
	measured bool // least is
	found
}

// lease is what is known of a hold that lasts.
type lease struct {
	until time.Duration // the promise before the renewal at hand
	given time.Duration // how long that promise was: a lock may begin with less than the TTL
	taker *hold         // the first of another client's to be granted the key since
}

func (x *renewals) event(k *key, ev histories.Event) {
	op := ev.Op
	if op.Kind != histories.Renew {
		return
	}
	x.answers[op.Outcome]++
	if op.Outcome != histories.OK {
		return
	}
	if h := k.numbered(op); h != nil {
		x.confirmed(k, h, op)
	} else if g := x.past.find(op.Hold); g != nil {
		x.afterwards(k, g, op)
	}
}

// afterwards judges the renewal of a hold whose release was called before it was answered, or was sent.
func (x *renewals) afterwards(k *key, g *gone, op *histories.Op) {
	switch {
	case g.ended && g.release.Outcome == histories.OK && op.Call > g.release.Return:
		x.violation(op, fmt.Sprintf("%s released %s at %s, which was answered ok at %s; a renewal of that hold, sent at %s, was confirmed at %s.",
			x.client(op), k.name, ms(g.release.Call), ms(g.release.Return), ms(op.Call), ms(op.Return)), g.acquire, g.release, *op)
	case g.taker.Hold != 0 && g.taker.Return < op.Call:
		x.violation(op, x.taken(k, &g.acquire, &g.taker, op), g.acquire, g.taker, *op)
	}
}

// taken tells of a renewal after another was granted the key.
func (x *renewals) taken(k *key, acquire, taker, op *histories.Op) string {
	return fmt.Sprintf("%s was granted %s at %s, and %s was granted it at %s; a renewal by the former, sent at %s, was confirmed all the same at %s.",
		x.client(acquire), k.name, ms(acquire.Return), x.client(taker), ms(taker.Return), ms(op.Call), ms(op.Return))
}

// confirmed judges the renewal of a hold that was not released. Clock error may hide a late one, so the
// slack that the promise was cut by is given back.
func (x *renewals) confirmed(k *key, h *hold, op *histories.Op) {
	l := x.held[h]
	given := min(x.header.TTL.D(), l.given)
	left := l.until + x.slack - op.Call
	switch t := l.taker; {
	case t != nil && t.granted < op.Call:
		x.violation(op, x.taken(k, &h.acquire, &t.acquire, op), h.acquire, t.acquire, *op)
	case !h.promised || l.until == 0 || l.until == histories.Forever || given <= 0:
	case left < given/4:
		x.violation(op, fmt.Sprintf("%s was promised %s until %s and sent its renewal at %s: %s were left of %s, less than a quarter.",
			x.who(h), k.name, ms(l.until), ms(op.Call), ms(left), ms(given)), h.acquire, *op)
		fallthrough
	default:
		if !x.measured || left < x.least {
			x.least, x.measured = left, true
		}
	}
	l.until, l.given = h.until, op.Validity
}

func (x *renewals) change(k *key, h *hold, c change) {
	switch c {
	case began:
		x.held[h] = &lease{until: h.until, given: h.given}
		if h.promised && h.until <= h.granted {
			return // the answer was so late that others may have had the key since: it took nothing from them
		}
		for _, o := range k.live {
			if l := x.held[o]; o != h && l.taker == nil && o.acquire.Client != h.acquire.Client {
				l.taker = h
			}
		}
	case nested:
		x.held[h].until, x.held[h].given = h.until, h.given
	case ended:
		if g := x.past.find(h.number()); g != nil && x.held[h].taker != nil {
			g.taker = x.held[h].taker.acquire
		}
	case closed:
		delete(x.held, h)
	}
}

func (x *renewals) violation(op *histories.Op, story string, ops ...histories.Op) {
	if x.first() {
		x.witness = witnessOf(op.Key, op.Call, op.Return, story, ops...)
	}
}

func (x *renewals) finding() Finding {
	confirmed, refused, unknown := x.answers[histories.OK], x.answers[histories.Refused], x.answers[histories.Unknown]
	evidence := fmt.Sprintf("%s confirmed, %d refused", count(confirmed, "renewal"), refused)
	if x.measured {
		evidence += ", " + ms(x.least) + " left at the least"
	}
	return x.found.finding(evidence,
		reason{confirmed+refused+unknown == 0, NotApplicable, "nothing was renewed"},
		reason{confirmed+refused == 0, Undecided, "no renewal was given a definite answer"})
}
