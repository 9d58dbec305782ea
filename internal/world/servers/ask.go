package servers

import (
	"context"
	"errors"
	"net"
	"time"
)

// AskWithin bounds a question to a server that is there but does not answer.
const AskWithin = 2 * time.Second

const (
	DatabaseWithin = 20 * time.Second // bounds the start of a database: one that crashed looks through its log first
	UnseatWithin   = 5 * time.Second  // bounds Store.Unseat
)

// ErrNoHolder is returned by Store.Unseat if no client holds the lock.
var ErrNoHolder = errors.New("nobody was seen to hold it")

// AwaitGone returns when a count of sessions is 0.
func AwaitGone(ctx context.Context, count func(ctx context.Context, left *int) error) error {
	return Poll(ctx, PollEvery, func(ctx context.Context) error {
		left := 1
		if err := count(ctx, &left); err != nil || left > 0 {
			return errors.Join(errors.New("its session was not seen to end"), err)
		}
		return nil
	})
}

// PollEvery is the interval at which a server of ours is asked for something that it will do soon.
const PollEvery = 2 * time.Millisecond

// Ask asks one question on a connection of its own: a client library would add commands of its own to what is counted.
func Ask(ctx context.Context, addr string, question func(net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, AskWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // a time long past: give up now
	return question(conn)
}

// Poll calls do until it returns nil or a Final error; when the context ends, it returns that and the last error.
func Poll(ctx context.Context, every time.Duration, do func(context.Context) error) error {
	for {
		err := do(ctx)
		var last final
		switch {
		case err == nil:
			return nil
		case errors.As(err, &last):
			return last.error
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(every):
		}
	}
}

// Final returns an error that Poll does not wait beyond.
func Final(err error) error { return final{err} }

type final struct{ error }

// ErrNotYet is for Poll: what is waited for has not come about.
var ErrNotYet = errors.New("it has not yet")
