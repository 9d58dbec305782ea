package counterexample

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
)

// long is how long an operation takes whose call and return are told apart.
const long = 10 * time.Millisecond

// at formats a time since the trial began.
func at(t time.Duration) string { return fmt.Sprintf("%.1f ms", float64(t)/float64(time.Millisecond)) }

// lasting formats a duration to about three digits.
func lasting(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d%time.Second == 0 && d != 0:
		return fmt.Sprintf("%d s", d/time.Second)
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 100 || d%time.Millisecond == 0:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// joined joins words with commas and an "and".
func joined(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func (x *Example) client(op *histories.Op) string {
	switch {
	case op.Client == histories.Harness:
		return "lockbench"
	case x.fresh(op):
		return "a fresh client"
	}
	return fmt.Sprintf("client %d", op.Client)
}

// returned says what an acquire, a renewal, a probe or a loss came to.
func (x *Example) returned(op *histories.Op) string {
	who := x.client(op)
	switch op.Kind {
	case histories.Lost:
		return fmt.Sprintf("%s is told that it lost %s", who, op.Key)
	case histories.Probe:
		return fmt.Sprintf("%s asks the store who holds %s: %s", who, op.Key, probed(op))
	case histories.Renew:
		return fmt.Sprintf("the lock renews %s for %s: %s%s", op.Key, who, outcome(op), lease(op))
	}
	since := ""
	if op.Return-op.Call > long {
		since = fmt.Sprintf(" (waiting since %s)", at(op.Call))
	}
	switch {
	case op.Outcome == histories.Refused:
		return fmt.Sprintf("%s is refused %s: %s%s", who, op.Key, op.Error, since)
	case op.Outcome == histories.Unknown:
		return fmt.Sprintf("%s does not learn whether it acquired %s: %s%s", who, op.Key, op.Error, since)
	case x.inner[keyOf(op)]:
		return fmt.Sprintf("%s, which holds %s, acquires it again%s", who, op.Key, lease(op))
	}
	return fmt.Sprintf("%s acquires %s%s%s%s%s", who, op.Key, x.token(op), lease(op), since, x.whileHeld(op, op.Return))
}

func probed(op *histories.Op) string {
	switch {
	case op.Outcome != histories.OK:
		return "no answer"
	case op.Value == histories.ProbeFree:
		return "nobody"
	case op.Value == histories.ProbeMine:
		return "this client"
	}
	return "another"
}

// token is the fencing token of a grant, if the property is about that.
func (x *Example) token(op *histories.Op) string {
	if op.Fence == 0 || !slices.Contains([]string{"fencing", "resource-integrity"}, x.property) {
		return ""
	}
	return fmt.Sprintf(" with token %d", op.Fence)
}

// lease is how long a grant or a renewal lasts.
func lease(op *histories.Op) string {
	until, ok := op.Until(0)
	switch {
	case !ok || op.Outcome != histories.OK:
		return ""
	case op.Validity == histories.Unbounded:
		return " without a lease"
	case until <= op.Return:
		return " on a lease that expired at " + at(until)
	}
	return " until " + at(until)
}

// whileHeld says which other clients hold the key of an operation at a time.
func (x *Example) whileHeld(op *histories.Op, when time.Duration) string {
	var all []string
	for _, h := range x.others(op, when) {
		text := x.client(h.acquire) + " holds it"
		switch until, ok := h.promise(when); {
		case ok && until <= when:
			text += " past its lease, which expired at " + at(until)
		case ok && until < histories.Forever:
			text += " until " + at(until)
		}
		all = append(all, text)
	}
	if all == nil {
		return ""
	}
	return ", while " + joined(all)
}

// outcome says what a release or a renewal was answered.
func outcome(op *histories.Op) string {
	switch {
	case op.Open():
		return "no answer"
	case op.Outcome == histories.OK:
		return "ok"
	case op.Outcome == histories.Refused:
		return fmt.Sprintf("%q", op.Error)
	}
	return "unknown (" + op.Error + ")"
}

// used says what a client did with the guarded value.
func (x *Example) used(op *histories.Op) string {
	text := x.client(op)
	switch op.Kind {
	case histories.Read:
		text += fmt.Sprintf(" reads %d", op.Value)
	case histories.Write:
		text += fmt.Sprintf(" writes %d", op.Value)
	default:
		text += " adds 1"
	}
	text += x.token(op)
	if op.Outcome != histories.OK {
		text += ": " + outcome(op)
	}
	return text
}
