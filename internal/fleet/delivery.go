package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// delivery is the delivery of a task to an agent. The queue gives the task to another agent unless the agent reports that it
// is running.
type delivery struct {
	agent   *Agent
	message jetstream.Msg
	server  string // the server that the task came from
	done    chan struct{}
	alive   sync.WaitGroup
}

// keep reports to the queue, until the delivery ends, that the task is running.
func (a *Agent) keep(m jetstream.Msg) *delivery {
	d := &delivery{agent: a, message: m, server: a.conn.ConnectedServerId(), done: make(chan struct{})}
	d.alive.Go(func() {
		for {
			select {
			case <-time.After(agentLease / 4):
				d.report(jetstream.Msg.InProgress)
			case <-d.done:
				return
			}
		}
	})
	return d
}

// report acknowledges the message. After a restart of the server it does not, because messages are only numbered: another task
// may have the number now. An error is ignored: the task is then given to an agent again.
func (d *delivery) report(acknowledge func(jetstream.Msg) error) {
	if d.agent.conn.ConnectedServerId() == d.server {
		_ = acknowledge(d.message)
	}
}

// end ends the delivery with an acknowledgement.
func (d *delivery) end(acknowledge func(jetstream.Msg) error) {
	close(d.done)
	d.alive.Wait()
	d.report(acknowledge)
}

// hand gives a task that was interrupted to another agent. It puts the task into the queue again, because one that is only
// refused would count as a task that its agent did not survive.
func (d *delivery) hand(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	acknowledge := jetstream.Msg.Ack
	if d.agent.conn.ConnectedServerId() == d.server {
		if _, err := d.agent.js.Publish(ctx, d.message.Subject(), d.message.Data()); err != nil {
			acknowledge = jetstream.Msg.Nak
		}
	}
	d.end(acknowledge)
}
