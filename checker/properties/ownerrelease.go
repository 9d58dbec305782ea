package properties

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// wrong is why a release is not its owner's.
type wrong uint8

const (
	again  wrong = iota // the hold was released before
	late                // what was promised had ended for certain
	others              // the hold is another client's
	never               // it was never granted
	wrongs              // how many there are
)

var wrongNames = [wrongs]string{"second release", "late one", "one of another's hold", "one of none"}

// releases judges that only the holder can release. It needs clients that try to release what they do not hold.
type releases struct {
	monitor
	open    map[int32]attempt // by client
	tried   [wrongs]int
	refused int // of those tried
}

// attempt is a release that is not its owner's and has not returned.
type attempt struct {
	why     wrong
	acquire *histories.Op    // of the hold that it names
	before  *histories.Op    // the release of that hold
	holder  *projection.Hold // who had the key when it was called
}

func (x *releases) Event(k *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind == histories.Renew && op.Outcome != histories.Refused:
		if a, ok := x.open[op.Client]; ok && a.why == late && a.acquire.Hold == op.Hold {
			x.tried[late]-- // this renewal was still unanswered when that was called
			delete(x.open, op.Client)
		}
	case op.Kind == histories.Release && !ev.Return:
		if a, ok := x.judge(k, op); ok {
			x.tried[a.why]++
			x.open[op.Client] = a
		}
	case op.Kind == histories.Release:
		a, ok := x.open[op.Client]
		delete(x.open, op.Client)
		if ok && op.Outcome == histories.Refused {
			x.refused++
		}
		if ok && op.Outcome == histories.OK && x.first() {
			x.violation(k, a, op)
		}
	}
}

// judge reports whether a release that is called is certainly not by the holder.
func (x *releases) judge(k *projection.Key, op *histories.Op) (attempt, bool) {
	a := attempt{holder: other(k, op.Client)}
	if h, _ := k.ReleasedBy(op); h != nil {
		a.why, a.acquire = late, &h.Acquire
		return a, op.Call > h.Over && !x.Shaken // a clock that was set back makes leases longer
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
		return a, false // too long ago, or it bears no number: nobody knows
	case g.Acquire.Outcome == histories.Refused || g.Key != k.Index:
		a.why = never
	case g.Acquire.Client != op.Client:
		a.why = others
	case g.Ended && g.Release.Outcome == histories.OK:
		released := g.Release
		a.why, a.before = again, &released
	case g.Ended && op.Call > g.Over && !x.Shaken:
		a.why = late
	default:
		return a, false // it may hold: a nested grant, or one that has no definite answer
	}
	acquire := g.Acquire
	a.acquire = &acquire
	return a, true
}

// other is a hold on the key that is not the client's.
func other(k *projection.Key, client int32) *projection.Hold {
	for _, h := range k.Live {
		if h.Acquire.Client != client {
			return h
		}
	}
	return nil
}

func (x *releases) violation(k *projection.Key, a attempt, op *histories.Op) {
	ops, story := []histories.Op{*a.acquire, *op}, ""
	switch a.why {
	case again:
		ops = append(ops, *a.before)
		story = x.tell("%s released %s at %s and released the same hold once more at %s: the second release was answered ok",
			op, k.Name, a.before.Call, op.Call)
	case late:
		story = x.tell("%s was granted %s at %s, its lease had ended for certain when it released it at %s, and that was answered ok",
			op, k.Name, a.acquire.Return, op.Call)
	case others:
		story = x.tell("%s released %s at %s in the name of the hold that %s was granted at %s, and that was answered ok",
			op, k.Name, op.Call, a.acquire, a.acquire.Return)
	case never:
		story = x.tell("%s asked for %s at %s and was not granted it; its release at %s was answered ok all the same",
			op, a.acquire.Key, a.acquire.Call, op.Call)
	}
	if h := a.holder; h != nil {
		story += x.tell(", while %s held %s since %s", h, k.Name, h.Granted)
		if h.Number() != a.acquire.Hold {
			ops = append(ops, h.Acquire)
		}
	}
	x.show(k.Name, op.Call, op.Return, ops, "%s.", story)
}

func (x *releases) Finding() checker.Finding {
	var kinds []string
	for why, n := range x.tried {
		if n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, wrongNames[why]))
		}
	}
	tried := cmp.Or(strings.Join(kinds, ", "), "none")
	return x.finding(fmt.Sprintf("releases by one who did not hold: %s; %d refused", tried, x.refused),
		reason{kinds == nil, checker.NotApplicable, "nobody released what it did not hold"},
		reason{x.refused == 0, checker.Undecided, "no release by one who did not hold was given a definite answer"})
}
