package counterexample

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
)

// long is a duration. If an operation takes longer, the event list shows both its call and its return.
const long = 10 * time.Millisecond

func formatTime(t time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(t)/float64(time.Millisecond))
}

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

// words holds a word for each kind of operation.
var words = map[histories.Kind]string{histories.Acquire: "acquires", histories.Renew: "renews", histories.Release: "releases",
	histories.Lost: "loses", histories.Read: "reads", histories.Write: "writes", histories.Append: "appends to",
	histories.Probe: "queries the store for"}

// line returns a description of an operation at its call or its return: client, kind, key, outcome and details.
func (x *Example) line(op *histories.Op, when time.Duration) string {
	parts := []string{outcome(op)}
	add := func(applies bool, format string, args ...any) {
		if applies {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(op.Kind == histories.Read || op.Kind == histories.Write, "value %d", op.Value)
	add(op.Fence > 0 && slices.Contains([]string{"fencing", "resource-integrity"}, x.property), "token %d", op.Fence)
	add(x.inner[keyOf(op)], "which it holds already")
	if until, ok := op.Until(0); ok && op.Outcome == histories.OK && op.Kind != histories.Probe {
		add(op.Validity == histories.Unbounded, "no lease")
		add(op.Validity > 0 && until <= op.Return, "lease expired at %s", formatTime(until))
		add(op.Validity > 0 && until > op.Return, "lease until %s", formatTime(until))
	}
	add(when == op.Return && op.Return-op.Call > long, "called at %s", formatTime(op.Call))
	return fmt.Sprintf("%s %s %s: %s%s", x.client(op), words[op.Kind], op.Key, strings.Join(parts, ", "), x.whileHeld(op, when))
}

func outcome(op *histories.Op) string {
	switch {
	case op.Open():
		return "no answer"
	case op.Outcome != histories.OK:
		return fmt.Sprintf("%s (%s)", op.Outcome, op.Error)
	case op.Kind == histories.Probe:
		return []string{"free", "held by this client", "held by another"}[op.Value]
	}
	return "ok"
}

// whileHeld returns a text that names the other clients that hold the key at the time when. If op is neither an acquire
// nor a release, the text is empty.
func (x *Example) whileHeld(op *histories.Op, when time.Duration) string {
	var all []string
	if op.Kind == histories.Release || op.Kind == histories.Acquire && op.Outcome == histories.OK {
		for _, h := range x.otherHolds(op, when) {
			text := x.client(h.acquire) + " holds it"
			switch until, ok := h.promise(when); {
			case ok && until <= when:
				text += " past its lease, which expired at " + formatTime(until)
			case ok && until < histories.Forever:
				text += " until " + formatTime(until)
			}
			all = append(all, text)
		}
	}
	if all == nil {
		return ""
	}
	return "; " + joined(all)
}
