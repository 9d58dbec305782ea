package proxy

import (
	"iter"
	"strings"
)

// Conversation finds the messages in the bytes of one connection. Each direction is used by one goroutine at a time.
type Conversation struct {
	up, down scanner
	pairing  pairing
	number   func() int // numbers the commands; nil: they have no number
}

// Begin returns the conversation of a new connection.
func Begin() *Conversation { return &Conversation{up: scanner{requests: true}} }

// Part is bytes to pass on, as they came.
type Part struct {
	Bytes   []byte // of the chunk, or the caller's
	Met     bool   // they end something that rules can be about, and what follows says what
	At      Point
	Command Command // without the number of the connection
	First   bool    // of a command: no reply was outstanding when it came
	begun   bool    // what stands before these bytes of it was passed on
}

// Said cuts the next bytes of a client's. What is not yet whole is kept until it is.
func (c *Conversation) Said(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for p := range c.up.pieces(chunk) {
			part := Part{Bytes: p.bytes}
			if f := p.frame; f != nil && f.count > 0 { // no server answers an empty line or array
				part.Met, part.At = true, Request
				part.Command = Command{Name: strings.ToUpper(f.args[0]), Args: f.args}
				if c.number != nil {
					part.Command.Nth = c.number()
				}
				part.First = c.pairing.ask(part.Command, f.count)
			}
			if !yield(part) {
				return
			}
		}
	}
}

// Answered cuts the next bytes of a server's.
func (c *Conversation) Answered(chunk []byte) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for p := range c.down.pieces(chunk) {
			part := Part{Bytes: p.bytes}
			if p.frame != nil {
				part.At, part.Command, part.Met = c.pairing.came(p.frame)
				part.begun = p.frame.begun
			}
			if !yield(part) {
				return
			}
		}
		if c.down.raw {
			c.pairing.stop()
		}
	}
}
