package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"lockbench/internal/fleet/clocks"
)

// Offer describes what an agent does for coordinators.
type Offer struct {
	Slots int      // number of tasks that it runs at once
	Tasks Handlers // of the queue
	Calls Handlers // of coordinators that address this agent, by Call; they use no slot
	// Clock returns what the agent's clock showed at a time. A test can return another clock. If it is nil, the clock counts from
	// the start of the agent.
	Clock func(time.Time) time.Duration
}

// call is a request to one agent. It is not stored anywhere.
type call struct {
	Campaign string          `json:"campaign"`
	Kind     string          `json:"kind"`
	Body     json.RawMessage `json:"body"`
	Limit    time.Duration   `json:"limit_ns"` // time limit of the handler
}

func callSubject(agent string) string  { return "lockbench.call." + agent }
func clockSubject(agent string) string { return "lockbench.clock." + agent }

// valid reports whether an agent answers the call.
func (c *call) valid() bool {
	return c.Campaign != "" && c.Kind != "" && c.Limit > 0 && c.Limit <= time.Hour
}

// listen subscribes to calls and to requests for the clock.
func (a *Agent) listen() error {
	if a.offer.Clock == nil {
		began := time.Now()
		a.offer.Clock = func(at time.Time) time.Duration { return at.Sub(began) }
	}
	_, err := a.conn.Subscribe(callSubject(a.name), a.answer)
	if err != nil {
		return err
	}
	_, err = a.conn.Subscribe(clockSubject(a.name), func(m *nats.Msg) {
		_ = m.Respond(strconv.AppendInt(nil, int64(a.offer.Clock(time.Now())), 10)) // the coordinator repeats the exchange
	})
	return err
}

// answer runs the handler of a call in another goroutine, and replies.
func (a *Agent) answer(m *nats.Msg) {
	var c call
	if unpack(m.Data, &c) != nil || !c.valid() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.work.Go(func() {
		o := a.called(c)
		packed, err := pack(o, a.conn.MaxPayload())
		if err != nil {
			packed, _ = pack(outcome{Agent: a.name, Error: err.Error()}, a.conn.MaxPayload())
		}
		_ = m.Respond(packed) // without a reply the coordinator reports that the agent is silent
	})
}

// called runs the handler of a call. The handler is interrupted if the agent ends, or if the coordinator ends or is silent.
func (a *Agent) called(c call) outcome {
	o := outcome{Agent: a.name}
	handler, ok := a.offer.Calls[c.Kind]
	if !ok {
		o.Error, o.Refused = fmt.Sprintf("agent %s does not answer calls of the kind %s", a.name, c.Kind), true
		return o
	}
	of := a.await(a.ctx, c.Campaign, "")
	if of == nil {
		o.Error = "the coordinator sends no heartbeats"
		return o
	}
	ctx, cancel := context.WithTimeout(of.ctx, c.Limit)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	o.run(func() (any, error) { return handler(ctx, c.Body) })
	o.Ended = a.ctx.Err() != nil
	return o
}

// Call makes one agent run a handler of Offer.Calls, and returns its result. An error of the handler is returned as text. The
// call is a message that no server stores, so it may contain secrets if the connection is encrypted or local.
func Call[T any](ctx context.Context, c *Coordinator, agent, kind string, body any, limit time.Duration) (result T, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return result, err
	}
	packed, err := pack(call{c.id, kind, encoded, limit}, c.conn.MaxPayload())
	if err != nil {
		return result, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit+callTimeout)
	defer cancel()
	m, err := c.conn.RequestWithContext(waiting, callSubject(agent), packed)
	var o outcome
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return result, fmt.Errorf("agent %s: %w", agent, ErrSilent)
	case err != nil:
		return result, fmt.Errorf("call agent %s: %w", agent, plain(err))
	}
	if err := unpack(m.Data, &o); err != nil {
		return result, fmt.Errorf("read the reply of agent %s: %w", agent, err)
	}
	switch {
	case o.Ended:
		return result, fmt.Errorf("agent %s: %w", agent, ErrSilent)
	case o.Refused:
		return result, fmt.Errorf("%w: %s", ErrRefused, strings.TrimPrefix(o.Error, ErrRefused.Error()+": "))
	case o.Error != "":
		return result, fmt.Errorf("agent %s: %s", agent, o.Error)
	}
	if err := json.Unmarshal(o.Result, &result); err != nil {
		return result, fmt.Errorf("read the reply of agent %s: %w", agent, err)
	}
	return result, nil
}

// ErrSilent is the error of a call to an agent that has ended or does not reply.
var ErrSilent = errors.New("it does not reply")

// exchangeTimeout is the time limit of an exchange with a clock. A slow one would say little.
const exchangeTimeout = time.Second

// Exchange reads the clock of an agent. The local clock is Now. The error is ErrSilent if the agent has ended.
func (c *Coordinator) Exchange(ctx context.Context, agent string) (x clocks.Exchange, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	x.Sent = c.Now()
	m, err := c.conn.RequestWithContext(ctx, clockSubject(agent), nil)
	x.Received = c.Now()
	if errors.Is(err, nats.ErrNoResponders) {
		return x, fmt.Errorf("agent %s: %w", agent, ErrSilent)
	}
	if err != nil {
		return x, fmt.Errorf("read the clock of agent %s: %w", agent, plain(err))
	}
	x.Read, err = readClock(m.Data)
	return x, err
}

// readClock parses the reading of a clock.
func readClock(text []byte) (time.Duration, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < -maxClock || n > maxClock {
		return 0, errors.New("the reply of an agent is no reading of a clock")
	}
	return time.Duration(n), nil
}

// maxClock bounds the readings of clocks, so that sums of them do not overflow: 73 years.
const maxClock = 1 << 61

// Now returns the coordinator's clock, which counts from its start.
func (c *Coordinator) Now() time.Duration { return time.Since(c.began) }
