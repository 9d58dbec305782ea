package sim

import (
	"sync/atomic"
	"time"

	"lockbench/internal/world/proxy"
)

// timetable says how long each message of a link is under way, and which instants are its own. It depends on nothing but
// the seed, who is linked to whom, the direction and the message's number there: not on its connection, of which
// goroutines that run at one instant take one or another.
type timetable struct {
	latency time.Duration
	keys    [2]uint64
	first   int // of the link's instants in each quantum, by which links are told apart
	step    int // from those of a message to those of the next
	counts  [2]atomic.Uint64
}

// often is how many processes have instants of their own at once; the messages of more share some with later
// messages of others. They come round in any case: there are 909 instants for all.
const often = 8

func (n *Net) timetable(r route) timetable {
	key := draw(n.seed, uint64(r.process), uint64(r.node))
	return timetable{latency: n.latency, keys: [2]uint64{draw(key, 0), draw(key, 1)},
		first: 2 * (r.process*len(n.nodes) + r.node), step: 2 * often * len(n.nodes)}
}

// turn is what the timetable says of one message.
type turn struct {
	number  uint64 // from 1
	delay   time.Duration
	residue time.Duration // its instants leave this when divided by the quantum
}

// next is the next message's turn.
func (t *timetable) next(d proxy.Direction) turn {
	way := d >> 1 // 0 to the server, 1 to the client
	n := t.counts[way].Add(1)
	return turn{n, t.latency/2 + time.Duration(draw(t.keys[way], n)%uint64(t.latency+1)), t.residue(d, n)}
}

func (t *timetable) residue(d proxy.Direction, n uint64) time.Duration {
	return time.Duration(Reserved + (t.first+int(d>>1)+int(n)*t.step)%(int(quantum)-Reserved))
}

// own is the first instant from t on that leaves a residue.
func own(t time.Time, residue time.Duration) time.Time {
	return t.Add((residue - time.Duration(t.UnixNano())%quantum + quantum) % quantum)
}
