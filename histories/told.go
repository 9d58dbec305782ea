package histories

import "time"

// Begin notes that a client begins something of which its log is told when it is over, and gives the time: an order of
// a shop, say, whose operations are known when its answer was read. No mark is later than what has begun and was not
// told, so that a reader finds every operation above the marks that follow its return.
func (l *Log) Begin() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.stamp()
	return l.begun
}

// Tell records what became of that: whole operations, one after the other, none called before its Begin. Client and Life are
// the log's to fill in, and so is Due where it is zero. An acquire or release that is indeterminate ends this life of the
// client.
func (l *Log) Tell(ops ...Op) {
	for i := range ops {
		l.lockWithRoom()
		op := ops[i]
		op.Client, op.Life = l.client, l.life
		if op.Due == 0 {
			op.Due = op.Call
		}
		if op.Outcome == Unknown && (op.Kind == Acquire || op.Kind == Release) {
			l.life++
		}
		l.last = max(l.last, op.Return)
		l.done = append(l.done, op)
		l.unlock()
	}
	l.mu.Lock()
	l.begun = 0
	l.mu.Unlock()
}

// told is how far the logs have been told everything: to a time, or to the earliest that has begun.
func (r *Recorder) told(to time.Duration) time.Duration {
	for _, l := range r.logs {
		l.mu.Lock()
		if l.begun > 0 {
			to = min(to, l.begun)
		}
		l.mu.Unlock()
	}
	return to
}
