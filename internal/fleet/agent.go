package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Agent takes tasks from a queue and runs them.
type Agent struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	name  string
	build string
	offer Offer

	ctx  context.Context // of slots and calls
	stop func()          // ends the slots, and interrupts tasks and calls
	work sync.WaitGroup  // of slots, calls and heartbeats

	mu        sync.Mutex
	closed    bool // whether no call is answered any more
	campaigns map[string]*campaign
	running   map[string]bool // names of running tasks
	done      int
}

// campaign is a campaign as an agent knows it.
type campaign struct {
	seen  time.Time
	over  bool            // whether its coordinator has ended it, and is not only silent
	ctx   context.Context // of its tasks
	ended func()
}

// Join connects to a queue and starts an agent. It waits up to a minute for a queue that does not exist yet.
func Join(ctx context.Context, at Address, offer Offer) (*Agent, error) {
	build, err := Build()
	if err != nil {
		return nil, err
	}
	conn, err := at.connect("lockbench agent")
	for until := time.Now().Add(joinTimeout); errors.Is(err, errNobody) && time.Now().Before(until); {
		select {
		case <-time.After(beatInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		conn, err = at.connect("lockbench agent")
	}
	if err != nil {
		return nil, err
	}
	a := &Agent{conn: conn, build: build, offer: offer}
	if a.js, err = jetstream.New(conn); err == nil {
		err = a.start(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return a, nil
}

// joinTimeout is the time for which an agent waits for a queue that does not exist yet.
const joinTimeout = time.Minute

// Close interrupts the tasks, ends the agent and closes its connection. An interrupted task is given to another agent.
func (a *Agent) Close() {
	a.close()
	a.conn.Close()
}

// start starts the slots of the agent.
func (a *Agent) start(ctx context.Context) error {
	a.name = fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(host(), ".", "-"), os.Getpid(), newID()[:4])
	a.campaigns, a.running = map[string]*campaign{}, map[string]bool{}
	a.ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx)) // close ends it, so that results under way are delivered first
	if _, err := a.conn.Subscribe(beatSubject("*"), a.hear); err != nil {
		return err
	}
	if err := a.listen(); err != nil {
		return err
	}
	for range a.offer.Slots {
		a.work.Go(func() { a.slot(a.ctx) })
	}
	a.work.Go(func() {
		for tick := time.NewTicker(beatInterval); ; {
			a.beat()
			select {
			case <-tick.C:
			case <-a.ctx.Done():
				return
			}
		}
	})
	return a.conn.Flush()
}

// close interrupts the tasks and calls, and ends the slots.
func (a *Agent) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.work.Wait()
}

// State describes the agent.
func (a *Agent) State() Presence {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := Presence{Name: a.name, Build: a.build, Slots: a.offer.Slots, Done: a.done}
	for name := range a.running {
		p.Running = append(p.Running, name)
	}
	return p
}

// beat sends a heartbeat, and stops the tasks of silent campaigns.
func (a *Agent) beat() {
	if text, err := json.Marshal(a.State()); err == nil {
		_ = a.conn.Publish(presenceSubject(a.name), text) // the next one follows
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, c := range a.campaigns {
		if time.Since(c.seen) > campaignLease {
			c.ended()
			delete(a.campaigns, id)
		}
	}
}

// hear handles a heartbeat of a campaign, or its end.
func (a *Agent) hear(m *nats.Msg) {
	id := strings.TrimPrefix(m.Subject, beatSubject(""))
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.campaigns[id]
	switch {
	case string(m.Data) != "ended":
		if c == nil || c.ctx.Err() != nil { // it was resumed
			ctx, ended := context.WithCancel(context.Background())
			c = &campaign{ctx: ctx, ended: ended}
			a.campaigns[id] = c
		}
		c.seen = time.Now()
	case c != nil:
		c.ended()
		c.over, c.seen = true, time.Time{} // its other tasks are not begun
	}
}

// isOver reports whether the coordinator has ended a campaign.
func (a *Agent) isOver(c *campaign) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return c.over
}

// slot runs one task after the other until ctx ends.
func (a *Agent) slot(ctx context.Context) {
	var queue jetstream.Consumer
	for ctx.Err() == nil {
		m, err := a.next(ctx, &queue)
		if err != nil {
			queue = nil
			select { // the connection is being restored, or the queue does not exist yet
			case <-time.After(beatInterval):
			case <-ctx.Done():
			}
			continue
		}
		if m != nil {
			a.run(ctx, m)
		}
	}
}

// next waits a few seconds for a task. It returns nil if no task came. It looks the queue up unless that was done before.
func (a *Agent) next(ctx context.Context, queue *jetstream.Consumer) (jetstream.Msg, error) {
	if *queue == nil {
		looking, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		found, err := a.js.Consumer(looking, stream, consumerName(a.build))
		if err != nil {
			return nil, err
		}
		*queue = found
	}
	waiting, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	batch, err := (*queue).Fetch(1, jetstream.FetchContext(waiting))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
		return nil, err
	}
	return nil, nil
}

// run runs a task and delivers its result. Errors of acknowledgements are ignored: the task is then given to an agent again.
func (a *Agent) run(ctx context.Context, m jetstream.Msg) {
	var t task
	if err := unpack(m.Data(), &t); err != nil || t.Campaign == "" || t.Key == "" || t.Limit <= 0 || t.Limit > time.Hour {
		_ = m.Term() // no agent can run it
		return
	}
	of := a.begin(ctx, t)
	if of == nil {
		_ = m.Term() // its coordinator is gone
		return
	}
	defer a.end(t)
	working, cancel := context.WithTimeout(of.ctx, t.Limit)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	taken := a.keep(m)
	o := a.handle(working, m, t)
	switch {
	case ctx.Err() != nil && working.Err() != nil:
		taken.hand(ctx)
	case of.ctx.Err() != nil:
		taken.end(jetstream.Msg.Term)
	case a.deliver(of, t, o) == nil:
		taken.end(jetstream.Msg.Ack)
	default:
		taken.end(jetstream.Msg.Nak)
	}
}

// begin notes that a task is running. It returns nil if its campaign has ended or is silent.
func (a *Agent) begin(ctx context.Context, t task) *campaign {
	return a.await(ctx, t.Campaign, running(t.Campaign, t.Key))
}

// await waits for a heartbeat of a new or resumed campaign, and adds the name of a task, unless it is "", to the running tasks. It
// returns nil if the campaign has ended or is silent.
func (a *Agent) await(ctx context.Context, id, name string) *campaign {
	for waited := time.Duration(0); ; waited += beatInterval / 10 {
		a.mu.Lock()
		c := a.campaigns[id]
		alive := c != nil && c.ctx.Err() == nil
		if alive && name != "" {
			a.running[name] = true
		}
		a.mu.Unlock()
		switch {
		case alive:
			return c
		case waited > 3*beatInterval || ctx.Err() != nil:
			return nil
		}
		time.Sleep(beatInterval / 10)
	}
}

func (a *Agent) end(t task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, running(t.Campaign, t.Key))
	a.done++
}

// handle runs the handler of a task.
func (a *Agent) handle(ctx context.Context, m jetstream.Msg, t task) outcome {
	o := outcome{Key: t.Key, Agent: a.name}
	handler, ok := a.offer.Tasks[t.Kind]
	about, err := m.Metadata()
	switch {
	case !ok:
		o.Error, o.Refused = fmt.Sprintf("agent %s does not run tasks of the kind %s", a.name, t.Kind), true
	case err == nil && about.NumDelivered > deliveries:
		o.Error = fmt.Sprintf("%s was given to %d agents, and none answered", t.Key, deliveries)
	default:
		o.run(func() (any, error) { return handler(ctx, t.Body) })
	}
	return o
}

// run stores the result of a handler, or its error.
func (o *outcome) run(handler func() (any, error)) {
	result, err := handler()
	if err == nil {
		o.Result, err = json.Marshal(result)
	}
	if err != nil {
		o.Error, o.Refused = err.Error(), errors.Is(err, ErrRefused)
	}
}

// deliver sends a result until the coordinator has stored it. It waits for a coordinator that is started again.
func (a *Agent) deliver(of *campaign, t task, o outcome) error {
	packed, err := pack(o, a.conn.MaxPayload())
	if err != nil {
		if packed, err = pack(outcome{Key: t.Key, Agent: a.name, Error: err.Error()}, a.conn.MaxPayload()); err != nil {
			return err
		}
	}
	for until := time.Now().Add(deliverTimeout); time.Now().Before(until) && !a.isOver(of); {
		if _, err := a.conn.Request(resultSubject(t.Campaign), packed, callTimeout); err == nil {
			return nil
		}
		time.Sleep(beatInterval / 2)
	}
	return errGone
}
