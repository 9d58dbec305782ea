package proxy

import (
	"strings"
	"sync"
)

// pairing finds, for what a server sends on one connection, the command that it answers. They are answered in
// order, but for two things. What is published comes in between. And a command that subscribes is answered once
// per channel: by arrays in RESP2, by pushes in RESP3.
type pairing struct {
	mu      sync.Mutex // guards what follows
	off     bool       // commands that come now are not answered, or not in the protocol
	waiting []asked    // for their replies, in order
	pushes  bool       // subscriptions are confirmed by pushes, so that no array is a message
	subs    [3]int     // how many there are: to channels, patterns, shard channels
	totals  [3]string  // what the server said last, by what it counts together
}

type asked struct {
	command Command
	confirm int // how many confirmations are to come, if it subscribes
}

// ask notes a command that has come, with its number of words, and says whether nothing else was outstanding.
func (p *pairing) ask(c Command, words int) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Name == "CLIENT" && len(c.Args) > 2 && strings.EqualFold(c.Args[1], "REPLY") && !strings.EqualFold(c.Args[2], "ON") {
		p.off = true
	}
	if p.off {
		return true
	}
	p.waiting = append(p.waiting, asked{c, words - 1})
	return len(p.waiting) == 1
}

func (p *pairing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// came says what a frame of the server's is: the reply, or its last part, to a command; a message; or neither.
func (p *pairing) came(f *frame) (at Point, c Command, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := ""
	if len(f.args) > 0 && (f.kind == '>' || f.kind == '*' && p.arraysArePublished()) {
		name = strings.ToUpper(f.args[0])
	}
	if name == "MESSAGE" || name == "PMESSAGE" || name == "SMESSAGE" {
		return Message, Command{Name: name, Args: f.args}, true
	}
	_, confirms := subscriptions[name]
	switch {
	case confirms:
		p.count(name, f)
		if !p.confirmed(name) {
			return Reply, c, false
		}
	case f.kind == '>' || len(p.waiting) == 0:
		return Reply, c, false
	}
	c = p.waiting[0].command
	p.waiting[0] = asked{} // so that it can go
	p.waiting = p.waiting[1:]
	if c.Name == "RESET" {
		p.subs, p.totals, p.pushes = [3]int{}, [3]string{}, false
	}
	return Reply, c, true
}

// arraysArePublished says whether an array may be a message or a confirmation, as in RESP2.
func (p *pairing) arraysArePublished() bool {
	if p.pushes {
		return false
	}
	subscribes := false
	if len(p.waiting) > 0 {
		_, subscribes = subscriptions[p.waiting[0].command.Name]
	}
	return subscribes || p.subs != [3]int{}
}

// count keeps the number of subscriptions, of which the server says only totals: channels and patterns are one.
func (p *pairing) count(name string, f *frame) {
	p.pushes = f.kind == '>'
	if len(f.args) < 3 {
		return
	}
	kind := subscriptions[name]
	total := &p.totals[kind&^pattern]
	if changed := *total != f.args[2]; changed && strings.Contains(name, "UNSUB") {
		p.subs[kind] = max(p.subs[kind]-1, 0)
	} else if changed {
		p.subs[kind]++
	}
	*total = f.args[2]
}

// confirmed says whether a confirmation was the last for the command that waits. One that unsubscribes from all
// that there is has as many as there are, and one if there is none.
func (p *pairing) confirmed(name string) bool {
	if len(p.waiting) == 0 || p.waiting[0].command.Name != name {
		return false
	}
	head := &p.waiting[0]
	if len(head.command.Args) == 1 {
		return p.subs[subscriptions[name]] == 0
	}
	head.confirm--
	return head.confirm <= 0
}

// Kinds of subscriptions, indexes of pairing.subs.
const (
	channel = iota
	pattern
	shard
)

// subscriptions are the commands that subscribe and unsubscribe, by what they do it to.
var subscriptions = map[string]int{"SUBSCRIBE": channel, "UNSUBSCRIBE": channel,
	"PSUBSCRIBE": pattern, "PUNSUBSCRIBE": pattern, "SSUBSCRIBE": shard, "SUNSUBSCRIBE": shard}
