package figures

import (
	"cmp"
	"maps"
	"time"

	"lockbench/histories"
)

type tracker struct {
	clients int32
	slack   time.Duration
	window  Window
	stats   *Stats
	asking  map[int32]ask    // acquires that have not returned, by client
	holds   map[int64]*hold  // holds that have not been released, by hold number
	freed   map[string]freed // released keys for which a client waits
	keys    map[string]bool
	last    map[string]int32        // last client that was granted each key
	ready   map[int32]time.Duration // return time of each client's last operation
}

type freed struct {
	at    time.Duration
	asked string // key that the client of the released hold requested; a lock may grant only a part (segment) of this key
}

type ask struct {
	key       string // requested key; the lock may choose a segment of the key
	due, call time.Duration
	contended bool
	bypassed  int // number of grants of the key to clients that called acquire after this client
}

type hold struct {
	client     int32
	life       int32
	asked, key string
	since      time.Duration
	until      time.Duration // end of the lease; if the client dies, the hold also ends at this time
	inner      bool          // whether the hold is re-entrant
}

// measured reports whether a client belongs to the workload. If the header does not state the number of clients, all
// clients belong to the workload.
func (t *tracker) measured(client int32) bool {
	return client >= 0 && (t.clients == 0 || client < t.clients)
}

func (t *tracker) visit(ev histories.Event) {
	op := ev.Op
	if t.measured(op.Client) && !op.Kind.SelfStarted() {
		if t.stats.First < 0 {
			t.stats.First = op.Call
		}
		if ev.Return {
			t.ready[op.Client] = op.Return
		}
	}
	switch {
	case op.Kind == histories.Acquire && !ev.Return:
		t.ask(op)
	case op.Kind == histories.Acquire:
		t.answered(op)
	case op.Kind == histories.Release && !ev.Return:
		t.release(op)
	case op.Kind == histories.Release && t.measured(op.Client):
		t.stats.Last = max(t.stats.Last, op.Return)
	case op.EndsClient() && !ev.Return:
		if a, ok := t.asking[op.Client]; ok { // a killed client no longer waits
			delete(t.asking, op.Client)
			t.forget(a.key)
		}
	case op.Kind == histories.Renew && op.Outcome == histories.OK:
		if t.window.contains(op.Return) {
			t.stats.Renewals++
		}
		if h := t.holds[holdID(op)]; h != nil {
			h.until = promised(op, t.slack)
		}
	case op.Kind == histories.Lost:
		if h := t.holds[holdID(op)]; h != nil {
			h.until = op.Call
		}
	}
}

func (t *tracker) ask(op *histories.Op) {
	a := ask{key: op.Key, due: op.Due, call: op.Call}
	for _, other := range t.asking {
		a.contended = a.contended || other.key == op.Key
	}
	for _, h := range t.holds {
		a.contended = a.contended || h.asked == op.Key && h.client != op.Client && h.until > op.Call
	}
	t.asking[op.Client] = a
	if t.measured(op.Client) {
		t.keys[op.Key] = true
		if t.window.contains(op.Call) {
			t.record(Late, op.Call-max(op.Due, t.ready[op.Client]))
		}
	}
}

func (t *tracker) answered(op *histories.Op) {
	a, ok := t.asking[op.Client]
	if !ok {
		return // ignore this return, because the client ended before its acquire returned
	}
	delete(t.asking, op.Client)
	inner := t.reentry(op)
	if op.Outcome == histories.OK {
		t.granted(op, a, inner)
	}
	if t.measured(op.Client) {
		t.waited(op, a, inner)
	}
	t.forget(a.key)
}

func (t *tracker) granted(op *histories.Op, a ask, inner bool) {
	t.holds[holdID(op)] = &hold{
		client: op.Client, life: op.Life, asked: a.key, key: op.Key,
		since: op.Return, until: promised(op, t.slack), inner: inner,
	}
	if last, ever := t.last[op.Key]; t.window.contains(op.Return) {
		t.stats.Grants++
		if !inner && (!ever || last != op.Client) {
			t.stats.OwnerChanges++
		}
	}
	t.last[op.Key] = op.Client
	for client, other := range t.asking { // clients that called earlier and still wait
		if other.key == a.key && other.call < a.call && !inner {
			other.bypassed++
			t.asking[client] = other
		}
	}
}

// reentry reports whether a client acquired a key that the same client already holds. This works even if the lock does
// not record the depth of re-entry.
func (t *tracker) reentry(op *histories.Op) bool {
	for _, h := range t.holds {
		if h.client == op.Client && h.life == op.Life && h.key == op.Key {
			return true
		}
	}
	return op.Depth > 1
}

func (t *tracker) waited(op *histories.Op, a ask, inner bool) {
	granted := op.Outcome == histories.OK
	if f, ok := t.freed[op.Key]; ok && granted && !inner { // this grant completes a hand-off
		if t.window.contains(op.Return) {
			t.record(HandOffs, op.Return-f.at)
		}
		delete(t.freed, op.Key)
	}
	switch {
	case !t.window.whole() && op.Return >= t.window.To:
		t.overlaps(op.Client, a)
		return
	case !t.window.contains(op.Return):
		return
	}
	wait := Wait{NS: int64(op.Return - a.due), Ended: NotGranted}
	if granted {
		wait.Ended = Granted
	}
	t.stats.Longest = Longer(t.stats.Longest, wait)
	t.stats.Bypassed = max(t.stats.Bypassed, a.bypassed)
	if granted && inner {
		t.stats.Reentries++
		return
	}
	t.record(classOf(op.Outcome, a.contended), op.Return-a.due)
	if a.contended && (granted || op.Wait != 0) { // the refusal of a try is an answer
		t.stats.Waits.record(op.Client, op.Return-a.due, granted)
	}
}

// overlaps handles an acquire that was still waiting when the measurement window ended. It records the wait until the
// end of the window.
func (t *tracker) overlaps(client int32, a ask) {
	if a.due < t.window.To {
		if a.contended {
			t.stats.Waits.record(client, t.window.To-a.due, false)
		}
		t.stats.Longest = Longer(t.stats.Longest, Wait{NS: int64(t.window.To - a.due), Ended: CutOff})
		t.stats.Bypassed = max(t.stats.Bypassed, a.bypassed)
	}
}

// forget removes a key from the released keys if no client waits for the key any longer.
func (t *tracker) forget(asked string) {
	for _, a := range t.asking {
		if a.key == asked {
			return
		}
	}
	maps.DeleteFunc(t.freed, func(_ string, f freed) bool { return f.asked == asked })
}

func (t *tracker) release(op *histories.Op) {
	h := t.holds[holdID(op)]
	delete(t.holds, holdID(op))
	if h == nil || h.inner || !t.measured(op.Client) {
		return
	}
	if t.window.contains(op.Call) {
		t.stats.Sections++
		for int(op.Client) >= len(t.stats.PerClient) { // this loop runs only if the header does not state the number of clients
			t.stats.PerClient = append(t.stats.PerClient, 0)
		}
		t.stats.PerClient[op.Client]++
		t.stats.Held += op.Call - h.since
		t.record(HoldTimes, op.Call-h.since)
	}
	t.stats.Last = max(t.stats.Last, op.Call) // the call ends the hold; the release may return later
	for _, a := range t.asking {
		if a.key == h.asked { // the waiter is another client, because this client is releasing the key
			t.freed[h.key] = freed{op.Call, h.asked}
		}
	}
}

func (t *tracker) record(c Class, d time.Duration) {
	if !t.stats.Samples.Record(c, d) {
		t.stats.OutOfRange++
	}
}

func (t *tracker) end(cover histories.Coverage) {
	s := t.stats
	s.Cover, s.Keys = cover, len(t.keys)
	s.First = max(s.First, 0)
	if !t.window.whole() {
		s.First, s.Last = t.window.From, t.window.To
	}
	for client, a := range t.asking {
		switch {
		case !t.measured(client):
		case !t.window.whole():
			t.overlaps(client, a)
		default:
			s.CutOff++
			if a.contended {
				s.Waits.record(client, max(0, cover.Until-a.due), false)
			}
			s.Longest = Longer(s.Longest, Wait{NS: int64(max(0, cover.Until-a.due)), Ended: CutOff})
		}
	}
}

// holdID returns the number of a hold. If a handwritten history omits the number, the client's number identifies the
// hold.
func holdID(op *histories.Op) int64 { return cmp.Or(op.Hold, -int64(op.Client)-2) }

// promised returns the end of the lease, or Forever if the grant has no lease.
func promised(op *histories.Op, slack time.Duration) time.Duration {
	if until, ok := op.Until(slack); ok {
		return until
	}
	return histories.Forever
}
