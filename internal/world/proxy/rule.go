package proxy

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Point is the place at which a rule applies.
type Point uint8

// The points. A command, reply or message longer than 1 MB has been passed on except for its end, without which it has no
// effect.
const (
	Request Point = iota // a command has been read from the client and not yet passed on
	Reply                // a reply has been read from the server and not yet passed on
	Message              // a published message has been read from the server and not yet passed on
)

// Fate is the decision of a rule.
type Fate uint8

// The fates. Only messages can be dropped: without a reply the client would take the next reply for it.
const (
	Pass   Fate = iota
	Drop        // drop the message; for a command, a reply or a message over 1 MB, the same as Close
	Close       // stop delivery in both directions and close both connections
	Silent      // stop delivery in both directions, but keep both connections open until one side closes
)

// Command is a command from a client, or a published message.
type Command struct {
	Name  string   // in upper case; a message is MESSAGE, PMESSAGE or SMESSAGE; "" in an opaque protocol
	Args  []string // all words, the name as it was sent first; at most 64, each cut at 64 bytes
	Conn  int      // number of the connection on its link, from 1
	Bytes []byte   // bytes of the request, in an opaque protocol only; valid until Do returns
	Nth   int      // position among the commands of the link, from 1; for a message: the number of earlier commands
}

// Rule decides whether matching commands, replies or messages are passed on.
type Rule struct {
	Commands []string // names of matching commands, in any case; empty: all commands; ignored for messages
	Nth      int      // apply only to the nth match since the rule was set, from 1; 0: every match
	Point    Point

	// Do returns the decision. Until it returns, later data in the same direction of the connection waits. The context
	// ends when the link closes the connection. It does not end when the client closes it, because the client's command
	// may still arrive. After one side has closed, the other direction ends within two seconds. Do may run for several
	// connections at once.
	Do func(context.Context, Command) Fate
}

type rule struct {
	Rule
	matched int // number of matches
}

// Rules holds the rules of one link. The zero value has no rules. It is safe for concurrent use.
type Rules struct {
	mu  sync.Mutex
	set []*rule
}

// On adds a rule. If several rules match, they are asked in the order in which they were added, until one of them does not
// return Pass. The returned function removes the rule. It does not wait for a running Do.
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

// Matching counts a command as a match of each rule that matches it. It returns the Do functions of the rules that apply,
// in order.
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
