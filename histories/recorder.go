package histories

import (
	"io"
	"slices"
	"sync"
	"time"
)

// logCapacity is the maximum number of returned operations in a client's log. A full log takes 120 kB, so the logs of
// 256 clients take less than 32 MB.
const logCapacity = 1024

// Recorder records a history during a run. Each client has its own Log, which does not allocate memory. Callers must
// call Mark at least every second, and Drain after each value received from Full. The Recorder starts no goroutine, so
// it works in virtual time too.
type Recorder struct {
	start time.Time
	logs  []*Log
	full  chan struct{}

	grows bool // whether a full log grows; otherwise its operations are written out to make room

	mu    sync.Mutex // guards the fields below
	enc   sink
	spare []Op
	err   error
}

// sink is the destination of a Recorder: an encoder that writes a file, or a Memory.
type sink interface {
	header(Header) error
	op(*Op) error
	mark(at, stall time.Duration) error
	flush() error
	close() error
}

var _ sink = (*encoder)(nil)

// NewRecorder returns a Recorder with a log for each client and one for lockbench itself. It writes the header and
// starts the clock.
func NewRecorder(w io.Writer, h Header, clients int) (*Recorder, error) {
	enc, err := newEncoder(w)
	if err != nil {
		return nil, err
	}
	h.Marks = true
	return newRecorder(enc, h, clients, logCapacity)
}

func newRecorder(enc sink, h Header, clients, capacity int) (*Recorder, error) {
	h.Version = Version
	r := &Recorder{enc: enc, full: make(chan struct{}, 1), spare: make([]Op, 0, capacity)}
	for c := range clients + 1 {
		r.logs = append(r.logs, &Log{r: r, client: int32(c), hold: int64(c) + 1, done: make([]Op, 0, capacity)})
	}
	r.logs[clients].client = Harness
	if err := enc.header(h); err != nil {
		return nil, err
	}
	r.start = time.Now()
	return r, nil
}

// Log returns the log of a client. client is a number from 0 to clients-1, or Harness.
func (r *Recorder) Log(client int32) *Log {
	if client == Harness {
		return r.logs[len(r.logs)-1]
	}
	return r.logs[client]
}

// Since returns the time since the start of the history.
func (r *Recorder) Since() time.Duration { return time.Since(r.start) }

// Full returns a channel that receives a value when a log is half full. The receiver should then call Drain, before the
// log is full.
func (r *Recorder) Full() <-chan struct{} { return r.full }

// Drain writes the operations that have returned.
func (r *Recorder) Drain() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.logs {
		r.drain(l, nil)
	}
	return r.err
}

// Mark writes all recorded operations and a mark with the current time, and flushes the file. If the run is killed
// later, its history can be judged up to this mark. stall is the longest pause of lockbench itself since the previous
// mark.
func (r *Recorder) Mark(stall time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mark(r.Since(), stall) // read the clock first, so that the logs contain all calls before the mark
}

func (r *Recorder) mark(now, stall time.Duration) error {
	// A mark states that the history is complete up to its time. A client that has called Begin records its operations
	// only with Tell. So the mark must not be later than the call of Begin.
	for _, l := range r.logs {
		l.mu.Lock()
		if l.begun > 0 {
			now = min(now, l.begun)
		}
		l.mu.Unlock()
	}
	open := make([]Op, 0, len(r.logs))
	for _, l := range r.logs {
		open = r.drain(l, open)
	}
	for i := range open {
		if open[i].Call <= now {
			r.keep(r.enc.op(&open[i]))
		}
	}
	r.keep(r.enc.mark(now, stall))
	r.keep(r.enc.flush())
	return r.err
}

// Close writes the last mark and ends the history. All clients must have finished. Close does not close the underlying
// writer.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.Since()
	for _, l := range r.logs { // with a coarse clock, the last event of a client may be later than the current time
		l.mu.Lock()
		end = max(end, l.last)
		l.mu.Unlock()
	}
	err := r.mark(end, 0)
	if e := r.enc.close(); err == nil {
		err = e
	}
	return err
}

// drain writes the completed operations of a log. It returns the slice open with the pending operations of the log
// appended, or nil if open is nil. It swaps buffers, so that the client does not wait during the encoding.
func (r *Recorder) drain(l *Log, open []Op) []Op {
	l.mu.Lock()
	done := l.done
	l.done = r.spare
	if open != nil && l.busy {
		open = append(open, l.open)
	}
	if open != nil {
		for _, op := range l.faults {
			open = append(open, *op)
		}
	}
	l.mu.Unlock()
	for i := range done {
		r.keep(r.enc.op(&done[i]))
	}
	r.spare = done[:0]
	return open
}

func (r *Recorder) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Log records the operations of one client. At most one operation may be open at a time, not counting faults.
type Log struct {
	r      *Recorder
	client int32

	mu   sync.Mutex
	hold int64 // number of the next acquire
	life int32
	last time.Duration
	open Op
	busy bool
	done []Op

	begun time.Duration // time at which the client last called Begin; 0 once the client has called Tell

	faults []*Op // faults that have not ended
}

// Call records the call of an operation and returns the time. It sets the Client, Life, Call and Return of the
// operation.
func (l *Log) Call(op Op) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.Client, op.Life = l.client, l.life
	op.Call, op.Return = l.stamp(), StillOpen
	if op.Due == 0 || op.Due > op.Call {
		op.Due = op.Call
	}
	l.open, l.busy = op, true
	return op.Call
}

// Return records the result of the open operation and returns the time. After an acquire or release with an unknown
// outcome, the client may or may not hold the key. Return then increments the client's Life. Later operations of the
// client therefore count as those of a new client.
func (l *Log) Return(res Result) time.Duration {
	l.lockWithRoom()
	op := &l.open
	op.Return = l.stamp()
	op.Outcome, op.Depth, op.Error = res.Outcome, res.Depth, res.Error
	op.SentAfter, op.Validity = res.SentAfter, res.Validity
	if res.Key != "" {
		op.Key = res.Key
	}
	if res.Fence != 0 {
		op.Fence = res.Fence
	}
	if op.Kind != Write {
		op.Value = res.Value
	}
	if op.Outcome == Unknown && (op.Kind == Acquire || op.Kind == Release) {
		l.life++
	}
	at := op.Return
	l.done = append(l.done, *op)
	l.busy = false
	l.unlock()
	return at
}

// Note records an operation that the lock itself started, such as a watchdog's renewal. op.Call must be its start time.
// The operation may overlap other operations of the client.
func (l *Log) Note(op Op) {
	l.lockWithRoom()
	op.Client, op.Life = l.client, l.life
	op.Return = max(l.r.Since(), op.Call)
	op.Due = op.Call
	l.done = append(l.done, op)
	l.unlock()
}

// Inject records the start of a fault. A fault in a client's Log affects that client, and may overlap other operations
// of the client.
//
// Inject returns a function. The caller must call this function when the fault has ended. The first argument must be OK
// if the fault was verified. Otherwise the second argument must state why the fault was not verified.
func (l *Log) Inject(op Op) (end func(outcome Outcome, problem string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.Kind, op.Client, op.Life = Inject, l.client, l.life
	op.Call, op.Return = l.stamp(), StillOpen // later than the client's last event, even if the clock has not advanced
	op.Due, op.Outcome = op.Call, Unknown
	l.faults = append(l.faults, &op)
	return func(outcome Outcome, problem string) {
		l.lockWithRoom()
		l.faults = slices.DeleteFunc(l.faults, func(f *Op) bool { return f == &op })
		op.Return = max(l.r.Since(), op.Call)
		op.Outcome, op.Error = outcome, problem
		l.done = append(l.done, op)
		l.unlock()
	}
}

// NextHold returns a number for the next acquire. Numbers increase for each client and are unique in the history.
func (l *Log) NextHold() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.hold
	l.hold += int64(len(l.r.logs))
	return n
}

// Life returns how many of the client's acquires and releases have returned with an unknown outcome. After each of
// them, the client counts as a new client.
func (l *Log) Life() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life
}

// NewLife makes the client's later operations count as those of a new client. It is used before a client tries to
// acquire a key that it already holds. A grant would otherwise count as nested.
func (l *Log) NewLife() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life++
}

// lockWithRoom locks the log and ensures that there is room for one more operation. If the log is full, the client
// drains it.
func (l *Log) lockWithRoom() {
	l.mu.Lock()
	for len(l.done) == cap(l.done) && !l.r.grows {
		l.mu.Unlock()
		l.r.mu.Lock()
		l.r.drain(l, nil)
		l.r.mu.Unlock()
		l.mu.Lock()
	}
}

func (l *Log) unlock() {
	half := len(l.done) == cap(l.done)/2
	l.mu.Unlock()
	if half {
		select {
		case l.r.full <- struct{}{}:
		default:
		}
	}
}

// stamp returns the current time as the time of an event. If the client already has an event at that time, stamp adds a
// nanosecond, so that the client's events stay in order.
func (l *Log) stamp() time.Duration {
	l.last = max(l.r.Since(), l.last+1)
	return l.last
}

// Started returns the time from which the history counts.
func (r *Recorder) Started() time.Time { return r.start }
