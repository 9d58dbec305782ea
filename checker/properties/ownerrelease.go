package properties

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// wrong identifies the reason why the release of a key must be refused.
type wrong uint8

const (
	again  wrong = iota // the client had already released the hold
	late                // the lease has certainly expired
	others              // the hold belongs to another client
	never               // the acquire of the hold was refused
	wrongs              // number of values of the type wrong
)

var wrongNames = [wrongs]string{"second release", "after the lease", "of another client's hold", "without a grant"}

// releases checks that only the holder of a key can release it. The workload must include releases by other clients.
type releases struct {
	monitor
	open    map[int32]attempt // outstanding attempts, by client
	unknown map[asker]time.Duration
	tried   [wrongs]int
	refused int // number of refused releases by clients that did not hold the key
}

// asker is a client together with a key that it acquires. The map releases.unknown contains the call time of the latest
// acquire with an unknown outcome, by asker.
type asker struct {
	client int32
	key    int
}

// attempt is an outstanding release by a client that does not hold the key.
type attempt struct {
	why     wrong
	acquire *histories.Op    // acquire of the hold to be released
	before  *histories.Op    // earlier release of the same hold
	holder  *projection.Hold // hold of another client at the time the release was called, or nil
}

func (x *releases) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Renew && op.Outcome != histories.Refused:
		if a, ok := x.open[op.Client]; ok && a.why == late && a.acquire.Hold == op.Hold {
			x.tried[late]-- // do not count this attempt, because the renewal may have extended the lease before the release
			delete(x.open, op.Client)
		}
	case op.Kind == histories.Acquire && ev.Return && op.Outcome == histories.Unknown:
		x.unknown[asker{op.Client, k.Index}] = op.Call
	case op.Kind == histories.Release && !ev.Return:
		if a, ok := x.judge(k, op); ok {
			x.tried[a.why]++
			x.open[op.Client] = a
		}
	case op.Kind == histories.Release:
		a, ok := x.open[op.Client]
		delete(x.open, op.Client)
		if ok && (a.why == again || a.why == late) && x.excused(op) {
			x.tried[a.why]--
			return
		}
		if ok && op.Outcome == histories.Refused {
			x.refused++
		}
		if ok && op.Outcome == histories.OK && x.countViolation() {
			x.violation(k, a, op)
		}
	}
}

// excused reports whether a fault explains that a second or a late release was answered ok. The hold may still exist after a fault of
// the servers: a clock that is set back extends a lease, and a failover may restore a hold. If a message was lost during the release,
// the lock may have sent its request again, and does not know whether the first request released the hold.
func (x *releases) excused(op *histories.Op) bool {
	return x.Shaken || x.mayLoseMessage(op.Client, op.Call)
}

// judge reports whether a release must be refused, because the client certainly does not hold the key. If so, the
// returned attempt contains the reason.
func (x *releases) judge(k *projection.Key, op *histories.Op) (attempt, bool) {
	a := attempt{holder: otherHold(k, op.Client)}
	if h, _ := k.ReleasedBy(op); h != nil {
		a.why, a.acquire = late, &h.Acquire
		vanished := h.Vanished > 0 && op.Call > h.Vanished
		return a, vanished || op.Call > h.Over && !x.Header.SilentRenewals // the lock may have extended the lease by a renewal that it did not report
	}
	for _, h := range slices.Concat(k.Live, k.Releasing) {
		if op.Hold != 0 && h.Number() == op.Hold && h.Acquire.Client != op.Client {
			a.why, a.acquire = others, &h.Acquire
			return a, true
		}
	}
	g := x.Past.Find(op.Hold)
	switch {
	case g == nil:
		return a, false // x.Past does not contain the acquire: it was evicted, or the release has no hold number
	case g.Acquire.Outcome == histories.Refused || g.Key != k.Index:
		a.why = never
	case g.Acquire.Client != op.Client:
		a.why = others
	case x.reentered(g):
		return a, false
	case g.Ended && g.Release.Outcome == histories.OK:
		released := g.Release
		a.why, a.before = again, &released
	case g.Ended && op.Call > g.Over && !x.Header.SilentRenewals:
		a.why = late
	default:
		return a, false // the client may still hold the key
	}
	acquire := g.Acquire
	a.acquire = &acquire
	return a, true
}

// reentered reports whether the client of a hold may have acquired its key again, by an acquire with an unknown
// outcome. The lock may then rightly accept one more release.
func (x *releases) reentered(g *projection.PastAcquire) bool {
	return x.unknown[asker{g.Acquire.Client, g.Key}] > g.Acquire.Call
}

// otherHold returns a hold of the key by another client, or nil.
func otherHold(k *projection.Key, client int32) *projection.Hold {
	for _, h := range k.Live {
		if h.Acquire.Client != client {
			return h
		}
	}
	return nil
}

func (x *releases) violation(k *projection.Key, a attempt, op *histories.Op) {
	ops, sentence := []histories.Op{*a.acquire, *op}, ""
	switch a.why {
	case again:
		ops = append(ops, *a.before)
		sentence = x.tell("%s released %s at %s and released the same hold once more at %s: the second release was answered ok",
			op, k.Name, a.before.Call, op.Call)
	case late:
		sentence = x.tell("%s was granted %s at %s, its lease had certainly expired when it released it at %s, and the release was answered ok",
			op, k.Name, a.acquire.Return, op.Call)
	case others:
		sentence = x.tell("%s released %s at %s with the number of the hold that %s was granted at %s, and the release was answered ok",
			op, k.Name, op.Call, a.acquire, a.acquire.Return)
	case never:
		sentence = x.tell("%s requested %s at %s and was not granted it; its release at %s was answered ok",
			op, a.acquire.Key, a.acquire.Call, op.Call)
	}
	if h := a.holder; h != nil {
		sentence += x.tell(", while %s held %s since %s", h, k.Name, h.Granted)
		if h.Number() != a.acquire.Hold {
			ops = append(ops, h.Acquire)
		}
	}
	x.show(k.Name, op.Call, op.Return, ops, "%s.", sentence)
}

func (x *releases) Finding() checker.Finding {
	var kinds []string
	for why, n := range x.tried {
		if n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, wrongNames[why]))
		}
	}
	tried := cmp.Or(strings.Join(kinds, ", "), "none")
	return x.finding(fmt.Sprintf("releases by a client that did not hold: %s; %d refused", tried, x.refused),
		reason{kinds == nil, checker.NotApplicable, "no client released a lock that it did not hold"},
		reason{x.refused == 0, checker.Undecided, "no release by a client that did not hold got a definite answer"})
}
