package proxy

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Point is where on its way something is met.
type Point uint8

// The points. Of what is longer than 1 MB all but its end has been passed on by then: it cannot be used without.
const (
	Request Point = iota // the whole command has come from the client and is not yet passed on
	Reply                // its whole reply has come from the server and is not yet passed on
	Message              // a published message for a subscriber has come and is not yet passed on
)

// Fate is what becomes of what was met.
type Fate uint8

// The fates. A reply cannot be dropped alone, since the next one would be taken for it; nor can a request.
const (
	Pass   Fate = iota
	Drop        // a message is swallowed. Of anything else, or a message too long to be held: as Close
	Close       // neither this nor what follows is delivered, either way; both sides are closed
	Silent      // likewise, but both sides stay open, as on a dead network, until one of them closes
)

// Command is a command that a client sent, or a published message.
type Command struct {
	Name  string   // in upper case; of a message MESSAGE, PMESSAGE or SMESSAGE; of an opaque protocol ""
	Args  []string // with the name as it came; the first 64, each cut at 64 bytes
	Conn  int      // the number of its connection, from 1
	Bytes []byte   // of a request in an opaque protocol what was sent; it is not to be kept
	Nth   int      // its number among the commands of the link, from 1; of a message how many there were
}

// Rule says what to do where something is met.
type Rule struct {
	Commands []string // their names, in any case; none: any command. A message is met whatever stands here
	Nth      int      // only the nth that matches since the rule was set, from 1; 0: every one
	Point    Point

	// Do decides. While it runs, what comes after on this direction of this connection waits, and what came
	// before goes on. The context ends when the link closes the connection: a client that hangs up while its
	// command is held does not end it, since what it sent is on its way, and arrives if it is passed. After a
	// side has closed, the other direction has two seconds. Do runs for several connections at once.
	Do func(context.Context, Command) Fate
}

type rule struct {
	Rule
	matched int // so far
}

// On sets a rule. Where several match, they are asked in the order in which they were set, until one does not
// pass. The function returned takes the rule back; it does not wait for a Do that runs.
func (l *Link) On(r Rule) (cancel func()) { return l.rules.On(r) }

// Rules are the rules of one link. They are safe for concurrent use, and ready to use when zero.
type Rules struct {
	mu  sync.Mutex
	set []*rule
}

// On sets a rule; the function returned takes it back.
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

// Matching counts a command against the rules and returns what decides, in order.
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
