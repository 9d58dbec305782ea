package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options describe a coordinator.
type Options struct {
	Dir      string // folder of the journal; it must exist
	Identity string // identifies the campaign: what determines its tasks; "": results are not stored
	Resume   bool   // whether the folder has results of the same campaign

	Listen Listen   // where the queue listens for agents of other processes; the zero value listens nowhere
	Remote *Address // servers to use instead of a queue in this process; may be nil

	Slots    int // number of tasks that this process runs at once; 0: it only coordinates
	Handlers Handlers
}

// Distributed reports whether agents in other processes can take part.
func (o Options) Distributed() bool { return o.Remote != nil || o.Listen.URL != "" }

// Coordinator puts tasks into the queue and returns their results. Do may be called by several goroutines.
type Coordinator struct {
	options Options
	id      string // of this campaign
	began   time.Time
	build   string
	server  *queueServer // nil: the servers are remote
	conn    *nats.Conn
	js      jetstream.JetStream
	journal *journal
	agent   *Agent // the agent of this process; nil if it only coordinates
	stop    func() // ends the heartbeats
	beats   sync.WaitGroup

	mu      sync.Mutex
	agents  map[string]*member
	waiting map[string]*waiting // tasks without a result, by key
	taken   int                 // number of turns that are taken
	changed chan struct{}       // closed and replaced when a turn may have become free
	failed  error               // why the journal cannot be written
}

// waiting is a task without a result.
type waiting struct {
	result chan outcome
	seen   time.Time // when it was put into the queue, or last known to be running
}

// Open opens a queue and starts the agent of this process.
func Open(ctx context.Context, o Options) (_ *Coordinator, err error) {
	c := &Coordinator{options: o, began: time.Now(), build: localBuild, agents: map[string]*member{}, waiting: map[string]*waiting{}, changed: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(false))
		}
	}()
	if o.Distributed() {
		if c.build, err = Build(); err != nil {
			return nil, err
		}
	}
	if c.journal, err = o.journal(); err != nil {
		return nil, err
	}
	c.id = c.journal.id
	if o.Remote != nil {
		c.conn, err = o.Remote.connect("lockbench coordinator")
	} else if c.server, err = startServer(o.Listen, o.Dir); err == nil {
		c.conn, err = c.server.connect("lockbench coordinator")
	}
	if err != nil {
		return nil, err
	}
	if c.js, err = jetstream.New(c.conn); err != nil {
		return nil, err
	}
	if err := createQueue(ctx, c.js, c.build); err != nil {
		return nil, fmt.Errorf("create the queue: %w", plain(err))
	}
	if o.Resume {
		c.purge() // what the earlier coordinator left in the servers' queue; each task is put into it again
	}
	if err := c.listen(); err != nil {
		return nil, err
	}
	if o.Slots > 0 {
		c.agent, err = c.startAgent(ctx, o)
	}
	return c, err
}

// journal opens the journal of the campaign. Its identity includes that of the program, because another one could draw other cases.
func (o Options) journal() (*journal, error) {
	if o.Identity == "" {
		return openJournal("", "", false)
	}
	build, err := Build()
	if err != nil {
		return nil, err
	}
	j, err := openJournal(filepath.Join(o.Dir, JournalName), o.Identity+" "+build, o.Resume)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no journal: the campaign is complete, or was never started", o.Dir)
	}
	return j, err
}

func (c *Coordinator) startAgent(ctx context.Context, o Options) (*Agent, error) {
	a := &Agent{conn: c.conn, js: c.js, build: c.build, offer: Offer{Slots: o.Slots, Tasks: o.Handlers}}
	return a, a.start(ctx)
}

// createQueue creates the stream and the consumer that all agents of a build share. Both are kept in memory: the coordinator
// repeats what is lost.
func createQueue(ctx context.Context, js jetstream.JetStream, build string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{taskPrefix + ">"}, Storage: jetstream.MemoryStorage,
		Retention: jetstream.WorkQueuePolicy, MaxAge: 24 * time.Hour, MaxBytes: 512 << 20, MaxMsgSize: mostPayload})
	if err != nil {
		return err
	}
	_, err = js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: consumerName(build), FilterSubject: taskSubject(build, "*"),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: agentLease, MaxDeliver: deliveries + 1, MaxAckPending: 1 << 16, MaxWaiting: 1 << 14})
	return err
}

// listen subscribes to results and to heartbeats of agents, and begins to send heartbeats.
func (c *Coordinator) listen() error {
	if _, err := c.conn.Subscribe(resultSubject(c.id), c.receive); err != nil {
		return err
	}
	if _, err := c.conn.Subscribe(presenceSubject("*"), c.meet); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.beats.Go(func() {
		for tick := time.NewTicker(beatInterval); ; {
			c.beat()
			c.bury()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return c.conn.Flush()
}

// beat sends a heartbeat. An error is ignored, because the next one follows.
func (c *Coordinator) beat() { _ = c.conn.Publish(beatSubject(c.id), []byte("alive")) }

// receive stores a result and confirms it to the agent. It also stores the result of a task that Do has not asked for yet: an
// agent ran it while the campaign had no coordinator. A second result of a task is confirmed and ignored.
func (c *Coordinator) receive(m *nats.Msg) {
	var o outcome
	if err := unpack(m.Data, &o); err != nil || o.Key == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[o.Key]
	if o.Error == "" && (w != nil || c.options.Identity != "") {
		if err := c.journal.add(o.Key, o.Result, w == nil); err != nil {
			c.failed = fmt.Errorf("write the journal: %w", err)
			o.Error = c.failed.Error()
		}
	}
	if w != nil {
		delete(c.waiting, o.Key)
		w.result <- o
	}
	_ = m.Respond([]byte("stored")) // without it the agent sends the result again
}

// Turn waits until an agent can begin another task, and reserves it. The caller must call done after the task.
func (c *Coordinator) Turn(ctx context.Context) (done func(), err error) {
	for {
		c.mu.Lock()
		free, changed, failed := c.taken < c.capacity(), c.changed, c.failed
		if free {
			c.taken++
		}
		c.mu.Unlock()
		switch {
		case failed != nil:
			return nil, failed
		case free:
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.taken--
				c.wake()
			}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Distributed reports whether agents in other processes can take part.
func (c *Coordinator) Distributed() bool { return c.options.Distributed() }

// JoinedBy returns what agents join with: the address, or the path of join.json if that contains a token.
func (c *Coordinator) JoinedBy() string {
	if c.options.Listen.token != "" {
		return filepath.Join(c.options.Dir, JoinName)
	}
	return c.options.Listen.URL
}

// Spent returns how long the campaign has taken, also before it was resumed.
func (c *Coordinator) Spent() time.Duration { return time.Since(c.journal.began) }

// Do runs a task and returns its result. The key identifies the task: one that the journal has is not run again. The limit
// is that of one run. An error of the handler is returned as text.
func Do[T any](ctx context.Context, c *Coordinator, kind, key string, body any, limit time.Duration) (result T, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return result, err
	}
	text, err := c.do(ctx, task{c.id, key, kind, encoded, limit})
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, fmt.Errorf("read the result of %s: %w", key, err)
	}
	return result, nil
}

func (c *Coordinator) do(ctx context.Context, t task) (json.RawMessage, error) {
	packed, err := pack(t, c.conn.MaxPayload())
	if err != nil {
		return nil, err
	}
	w, known, err := c.expect(t.Key)
	if w == nil {
		return known, err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, t.Key)
	}()
	for queued := c.isRunning(t.Key); ; queued = false {
		if !queued {
			if err := c.publish(ctx, packed); err != nil && ctx.Err() == nil && !c.conn.IsReconnecting() {
				return nil, fmt.Errorf("put a task into the queue: %w", plain(err))
			}
		}
		select {
		case o := <-w.result:
			switch {
			case o.Refused:
				return nil, fmt.Errorf("%w: %s", ErrRefused, strings.TrimPrefix(o.Error, ErrRefused.Error()+": "))
			case o.Error != "":
				return nil, errors.New(o.Error)
			}
			return o.Result, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.lost(ctx, t.Key, w):
		}
	}
}

// expect prepares for the result of a task, or returns the result if the journal has it. Both happen at once, because a
// result that arrives in between would not be noticed.
func (c *Coordinator) expect(key string) (w *waiting, known json.RawMessage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.journal.known(key); ok {
		return nil, known, nil
	}
	if c.waiting[key] != nil {
		return nil, nil, fmt.Errorf("two tasks have the key %q", key)
	}
	w = &waiting{result: make(chan outcome, 1), seen: time.Now()}
	c.waiting[key] = w
	return w, nil, nil
}

func (c *Coordinator) publish(ctx context.Context, packed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.js.Publish(ctx, taskSubject(c.build, c.id), packed)
	return err
}

// lost returns a channel that is closed when no agent has been running the task for a while. The task then is put into the
// queue again: the queue may have lost it, or an agent its result.
func (c *Coordinator) lost(ctx context.Context, key string, w *waiting) <-chan struct{} {
	lost := make(chan struct{})
	go func() {
		for {
			select {
			case <-time.After(requeueAfter / 3):
			case <-ctx.Done():
				return
			}
			c.mu.Lock()
			open := c.waiting[key] == w
			silent := time.Since(w.seen) > requeueAfter
			if silent {
				w.seen = time.Now()
			}
			c.mu.Unlock()
			if silent {
				close(lost)
			}
			if silent || !open {
				return
			}
		}
	}()
	return lost
}

// Close ends the campaign and the agent of this process. If the campaign is complete, it removes the journal and the secrets of the queue.
// Agents in other processes stop the tasks of the campaign and wait for another one.
func (c *Coordinator) Close(complete bool) error {
	var errs []error
	if c.stop != nil {
		c.stop()
		c.beats.Wait()
		_ = c.conn.Publish(beatSubject(c.id), []byte("ended")) // otherwise agents notice the silence
		c.purge()
	}
	if c.agent != nil {
		c.agent.close()
	}
	if c.conn != nil {
		_ = c.conn.FlushTimeout(callTimeout)
		c.conn.Close()
	}
	if c.server != nil && c.server.Server != nil {
		errs = append(errs, c.server.close())
	}
	if c.journal != nil {
		errs = append(errs, c.journal.close(complete))
	}
	if complete {
		errs = append(errs, c.options.Listen.forget(c.options.Dir))
	}
	return errors.Join(errs...)
}

// purge removes the tasks of the campaign from the queue. What remains after an error is refused by agents.
func (c *Coordinator) purge() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if s, err := c.js.Stream(ctx, stream); err == nil {
		_ = s.Purge(ctx, jetstream.WithPurgeSubject(taskSubject(c.build, c.id)))
	}
}

// host returns the name of this machine.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
