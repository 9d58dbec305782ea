package judge

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"lockbench/histories"
)

// mutex simulates clients that acquire and release locks, one lock per key. At most one client holds a lock at a time
// if the fields faulty and late are 0.
type mutex struct {
	r       *rand.Rand
	ops     []histories.Op
	keys    []string
	clients int
	grants  int           // total number of grants
	faulty  float64       // probability that a grant does not wait for the previous holder
	ttl     time.Duration // lease of each grant; 0: grants do not expire
	late    float64       // probability that a hold outlives its lease
	unknown float64       // probability that an acquire has an unknown outcome and takes no effect
}

// run simulates the clients and returns their operations, sorted by return time.
func (m *mutex) run() []histories.Op {
	type slot struct {
		free time.Duration // time at which the lock becomes free
	}
	locks := make([]slot, len(m.keys))
	next := make([]time.Duration, m.clients) // earliest time of the next call, by client
	lives := make([]int32, m.clients)
	for hold := int64(1); hold <= int64(m.grants); hold++ {
		c := m.r.IntN(m.clients)
		k := m.r.IntN(len(m.keys))
		call := next[c] + m.randomDelay(20)
		if m.r.Float64() < m.unknown {
			ret := call + m.randomDelay(30)
			m.add(histories.Op{Client: int32(c), Life: lives[c], Hold: hold, Kind: histories.Acquire, Key: m.keys[k], Call: call, Return: ret})
			lives[c]++
			next[c] = ret
			continue
		}
		at := max(call, locks[k].free) // time at which the client gets the lock
		if m.r.Float64() < m.faulty {
			at = call
		}
		got := at + m.randomDelay(5)
		left := got + m.randomDelay(20)
		if m.ttl > 0 && m.r.Float64() < m.late {
			left += m.ttl
		}
		freed := left + m.randomDelay(5)
		end := freed + m.randomDelay(5)
		validity := histories.Unbounded
		locks[k].free = max(locks[k].free, freed)
		if m.ttl > 0 {
			validity = m.ttl
			locks[k].free = min(freed, at+m.ttl)
		}
		m.add(histories.Op{Client: int32(c), Life: lives[c], Hold: hold, Kind: histories.Acquire, Outcome: histories.OK,
			Key: m.keys[k], Call: call, Return: got, SentAfter: max(0, at-call), Validity: validity})
		m.add(histories.Op{Client: int32(c), Life: lives[c], Hold: hold, Kind: histories.Release, Outcome: histories.OK,
			Key: m.keys[k], Call: left, Return: end})
		next[c] = end
	}
	slices.SortStableFunc(m.ops, func(a, b histories.Op) int { return cmp.Compare(a.Return, b.Return) })
	return m.ops
}

func (m *mutex) add(op histories.Op) {
	op.Due = op.Call
	m.ops = append(m.ops, op)
}

func (m *mutex) randomDelay(most int) time.Duration { return time.Duration(1 + m.r.IntN(most)) }

// header returns a header with 1 ns as the allowance for clock error, because the times are small integers.
func (m *mutex) header() histories.Header {
	return histories.Header{Version: 1, TTL: histories.Nanos(m.ttl), Slack: 1, Clients: m.clients}
}

// marked returns the lines of a history file: the given operations, and a mark after each group of operations. The
// parameter every is the number of operations in a group. A mark states that the file is complete up to its time. The
// operations that are still outstanding at that time are listed before the mark.
func marked(ops []histories.Op, clients, every int) []histories.Line {
	queues := make([][]histories.Op, clients) // remaining operations, by client
	for _, op := range ops {
		queues[op.Client] = append(queues[op.Client], op)
	}
	var lines []histories.Line
	for i, op := range ops {
		lines = append(lines, histories.Line{Op: op})
		queues[op.Client] = queues[op.Client][1:]
		if (i+1)%every != 0 && i+1 < len(ops) {
			continue
		}
		for _, q := range queues {
			if len(q) > 0 && q[0].Call <= op.Return {
				open := q[0]
				open.Return, open.Outcome = histories.StillOpen, histories.Unknown
				lines = append(lines, histories.Line{Op: open})
			}
		}
		lines = append(lines, histories.Line{Mark: true, At: op.Return})
	}
	return lines
}
