package proxy

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Point is the event at which a rule applies.
type Point uint8

// Points at which a rule can apply. If the data is longer than 1 MB, all but its end has already been forwarded. The
// receiver cannot act before the end arrives.
const (
	Request Point = iota // a command was read from the client, but not yet forwarded
	Reply                // a reply was read from the server, but not yet forwarded
	Message              // a published message was read from the server, but not yet forwarded
)

// Fate states what happens to a command, reply or message. For example, Pass means that it is forwarded.
type Fate uint8

// Fates of a command, reply or message. Only messages can be dropped. After a dropped reply, the client would mistake
// the next reply for it.
const (
	Pass   Fate = iota
	Drop        // drop a message of at most 1 MB; a longer message, a command or a reply is treated as with Close
	Close       // stop delivery in both directions and close both connections
	Silent      // stop delivery in both directions, but keep both connections open until one end closes
)

// Command is a command from a client, or a published message.
type Command struct {
	Name  string   // name in upper case; MESSAGE, PMESSAGE or SMESSAGE for a message; "" if the protocol is Opaque
	Args  []string // at most 64 words, each truncated to 64 bytes; Args[0] is the name as the client sent it
	Conn  int      // number of the connection on this link, from 1
	Bytes []byte   // the request if the protocol is Opaque; valid until Do returns
	Nth   int      // number of the command on this link, from 1; for a message, the number of earlier commands
}

// Rule decides whether matching commands, replies or messages are forwarded.
type Rule struct {
	Commands []string // names of the commands, in upper or lower case; empty: all commands; ignored for messages
	Nth      int      // apply only to the nth match after the rule was added, from 1; 0: every match
	Point    Point

	// Do returns what happens to a matching command, reply or message. Until Do returns, later data in the same
	// direction of the connection waits. The context ends when the link closes the connection. If the client or the
	// server closes its connection, the link closes the other connection two seconds later. Until then, the client's
	// command may still reach the server. Do may run for several connections at once.
	Do func(context.Context, Command) Fate
}

type rule struct {
	Rule
	matched int // number of matches since the rule was added
}

// Rules is the list of fault rules of one link. The zero value has no rules. It is safe for concurrent use.
type Rules struct {
	mu  sync.Mutex
	set []*rule
}

// On adds a rule. If several rules match, their Do functions are called in the order of the calls of On. The first
// result other than Pass applies. The returned function removes the rule. It does not wait for a running Do.
func (rs *Rules) On(r Rule) (cancel func()) {
	r.Commands = slices.Clone(r.Commands)
	set := &rule{Rule: r}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.set = append(rs.set, set)
	return func() {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.set = slices.DeleteFunc(rs.set, func(r *rule) bool { return r == set })
	}
}

func (rs *Rules) clear() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.set = nil
}

// Matching increments the match count of each rule that matches the command. If Rule.Nth is 0 or equals this count, the
// rule applies. Matching returns the Do functions of the rules that apply, in the order in which the rules were added.
func (rs *Rules) Matching(p Point, c Command) []func(context.Context, Command) Fate {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var found []func(context.Context, Command) Fate
	for _, r := range rs.set {
		if !r.meets(p, c.Name) {
			continue
		}
		r.matched++
		if r.Nth == 0 || r.Nth == r.matched {
			found = append(found, r.Do)
		}
	}
	return found
}

func (r *Rule) meets(p Point, name string) bool {
	if r.Point != p || p == Message || len(r.Commands) == 0 || name == "" {
		return r.Point == p
	}
	return slices.ContainsFunc(r.Commands, func(c string) bool { return strings.EqualFold(c, name) })
}
