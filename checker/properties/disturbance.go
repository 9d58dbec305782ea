package properties

import (
	"slices"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// spells describes the faults that affected one client.
type spells struct {
	open       []spell       // faults that have begun and have not been healed
	ended      time.Duration // end of the latest fault that was healed
	lossy      time.Duration // end of the latest fault that was healed and may have lost messages or data
	awake      time.Duration // end of the latest fault that was healed and paused the client itself
	unanswered bool          // an acquire of the client returned with an unknown outcome while its message was delayed
}

// spell is one fault. A fault that is never healed, such as a lost reply, lasts until the end of the history.
type spell struct {
	name        string
	call, begun time.Duration // call: call time of the injection; begun: return time of the injection, or StillOpen
	lossless    bool          // the fault loses no command, no reply and no data
	pause       bool          // the fault pauses the client itself
	delay       bool          // the fault only delays a message
	event       bool          // the fault ended a process while no other fault lasted, so that it affects the other clients only for a while
}

// longestLossless is the maximum duration of a pause or a delay that loses no messages. After a longer fault messages
// may be lost, because client libraries close a connection that was silent for about three seconds.
const longestLossless = 2 * time.Second

// shortDelay is the longest delay of a message that explains no missing answer. It is a third of the time that clients of stores wait.
const shortDelay = 300 * time.Millisecond

// Fault records that a fault begins or ends.
func (f *Facts) Fault(ev histories.Event) {
	op := ev.Op
	s := f.faults[op.Client]
	if s == nil {
		s = &spells{ended: -1, lossy: -1, awake: -1}
		f.faults[op.Client] = s
	}
	at := func(known func(spell) bool) int {
		for i := len(s.open) - 1; i >= 0; i-- {
			if s.open[i].name == op.Fault && known(s.open[i]) {
				return i
			}
		}
		return -1
	}
	switch {
	case op.Kind == histories.Heal:
		if i := at(func(spell) bool { return true }); i >= 0 {
			switch lossless := s.open[i].lossless; {
			case lossless && op.Return-s.open[i].call > longestLossless:
				f.losses++
				fallthrough
			case !lossless:
				s.lossy = op.Return
			}
			if s.open[i].delay && op.Return-s.open[i].call > shortDelay {
				f.troubled = min(f.troubled, s.open[i].call)
			}
			if s.open[i].pause {
				s.awake = op.Return
			}
			if s.open[i].delay && s.unanswered {
				f.delivered, s.unanswered = op.Return, false
			}
			s.open, s.ended = slices.Delete(s.open, i, i+1), max(s.ended, op.Return)
			f.healed = max(f.healed, op.Return)
		}
	case !ev.Return:
		f.upsets++
		pause := op.Value == histories.Lossless
		delay := op.Value == histories.Delayed
		cancelled := op.Value == histories.Interrupted
		lossless := pause || delay || cancelled || op.Value == histories.Working
		event := f.killed(op)
		if !lossless && !event {
			f.losses++
		}
		if !delay {
			f.troubled = min(f.troubled, op.Call)
		}
		f.harmed = f.harmed || !(delay || cancelled)
		s.open = append(s.open, spell{op.Fault, op.Call, histories.StillOpen, lossless, pause, delay, event})
	default:
		if i := at(func(o spell) bool { return o.call == op.Call }); i >= 0 {
			s.open[i].begun = op.Return
			f.killed(op)
		}
	}
}

// killed records the time of a fault that ended a process while no other fault lasted. It returns false for any other fault.
func (f *Facts) killed(op *histories.Op) bool {
	if op.Value != histories.Killed || !f.quiet() {
		return false
	}
	f.ended = max(f.ended, op.Call, op.Return)
	return true
}

// settled returns the end of the last delay or cancellation. It returns Forever if one lasts, or if another fault has happened.
func (f *Facts) settled() time.Duration {
	if f.harmed || !f.calm() {
		return histories.Forever
	}
	return f.healed
}

// firstTrouble returns the time of the first fault other than a short delay of a message, or Forever.
func (f *Facts) firstTrouble() time.Duration {
	first := f.troubled
	for _, s := range f.faults {
		for _, o := range s.open {
			if o.delay && f.Until-o.call > shortDelay {
				first = min(first, o.call)
			}
		}
	}
	return first
}

// Answered counts the acquires and releases that return with an unknown outcome. Those of a killed process count only as upsets,
// because the kill explains them. It ignores all other events.
func (f *Facts) Answered(ev histories.Event) {
	op := ev.Op
	if ev.Return && op.Outcome == histories.Unknown && (op.Kind == histories.Acquire || op.Kind == histories.Release) {
		f.upsets++
		if s := f.faults[op.Client]; s != nil && op.Kind == histories.Acquire && slices.ContainsFunc(s.open, func(o spell) bool { return o.delay }) {
			s.unanswered = true
		}
		if s := f.faults[op.Client]; s == nil || !slices.ContainsFunc(s.open, func(o spell) bool { return o.event }) {
			f.blanks++
			f.blank = max(f.blank, op.Return)
		}
	}
}

// deliveredHold returns the time until which an acquire may hold a key whose delayed message was delivered after its client had
// stopped waiting. It returns 0 if no such message was delivered.
func (f *Facts) deliveredHold() time.Duration {
	if f.delivered == 0 {
		return 0
	}
	return f.unknownHold(f.delivered)
}

// renewedHold returns the time until which the store may have a hold that was renewed in the same moment as its loss was reported.
// The parameter last is the last hold of the key that ended, or nil. It returns 0 if the renewal is not one of that hold.
func (f *Facts) renewedHold(last *projection.Hold, op *histories.Op) time.Duration {
	if last == nil || op.Outcome == histories.Refused || last.Number() != op.Hold || last.Acquire.Client != op.Client || last.Release.Kind != 0 && last.Release.Outcome == histories.OK {
		return 0
	}
	return f.unknownHold(op.Return)
}

// TimeRead records how long lockbench took to read the store while no fault affected the servers or the network. A slow read
// shows that the machine or the store was busy.
func (f *Facts) TimeRead(op *histories.Op) {
	if op.Kind == histories.Seen && !f.disturbed(histories.Harness, op.Call) {
		f.SlowestRead = max(f.SlowestRead, op.Return-op.Call)
	}
}

// disturbed reports whether a fault affected the client at or after the given time.
func (f *Facts) disturbed(client int32, from time.Duration) bool {
	s := f.faults[client]
	return s != nil && (len(s.open) > 0 || s.ended >= from)
}

// mayLoseMessage reports whether a fault may have lost a message of the client at or after the given time.
func (f *Facts) mayLoseMessage(client int32, from time.Duration) bool {
	s := f.faults[client]
	return s != nil && (s.lossy >= from || slices.ContainsFunc(s.open, func(o spell) bool { return !o.lossless }))
}

// reconnectTime is the time within which a client reaches its servers again after a fault that broke its connections.
const reconnectTime = 3 * time.Second

// delayedUntil returns the end of the faults that may have delayed an operation of the client since it was called: the end of
// pauses and delays, which lose nothing. It returns Forever if such a fault lasts, or if a fault may have lost a message since the
// call or shortly before.
func (f *Facts) delayedUntil(client int32, call time.Duration) time.Duration {
	end := f.faultEnd(client, call)
	for _, c := range []int32{client, histories.Harness} {
		if s := f.faults[c]; s != nil && s.lossy >= 0 && s.lossy >= call-reconnectTime {
			return histories.Forever
		}
	}
	return end
}

// calm reports whether all faults have been healed.
func (f *Facts) calm() bool {
	for _, s := range f.faults {
		if len(s.open) > 0 {
			return false
		}
	}
	return true
}

// quiet reports whether all faults have been healed, except those that ended a process while no other fault lasted.
func (f *Facts) quiet() bool {
	for _, s := range f.faults {
		if slices.ContainsFunc(s.open, func(o spell) bool { return !o.event }) {
			return false
		}
	}
	return true
}

// faultEnd returns the later of the given time and the end of the faults of the client, the servers and the network. It
// returns Forever if one of these faults has not been healed.
func (f *Facts) faultEnd(client int32, from time.Duration) time.Duration {
	for _, c := range []int32{client, histories.Harness} {
		if s := f.faults[c]; s != nil {
			if from = max(from, s.ended); len(s.open) > 0 {
				return histories.Forever
			}
		}
	}
	return from
}

// pauseEnd returns the later of the given time and the end of the faults that paused the client itself. It returns Forever if
// such a fault has not been healed.
func (f *Facts) pauseEnd(client int32, from time.Duration) time.Duration {
	s := f.faults[client]
	if s == nil {
		return from
	}
	if slices.ContainsFunc(s.open, func(o spell) bool { return o.pause }) {
		return histories.Forever
	}
	return max(from, s.awake)
}

// finalFaultEnd is like faultEnd, but is used at the end of the history. A fault that was never healed counts as ended
// when its injection returned.
func (f *Facts) finalFaultEnd(client int32, from time.Duration) time.Duration {
	for _, c := range []int32{client, histories.Harness} {
		if s := f.faults[c]; s != nil {
			from = max(from, s.ended)
			for _, o := range s.open {
				from = max(from, o.call, o.begun)
			}
		}
	}
	return from
}
