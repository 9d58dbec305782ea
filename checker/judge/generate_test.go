package judge

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"lockbench/histories"
)

// generated is a small random history, stored both as operations and as actions of a model. Times are small integers,
// so that equal times are common.
type generated struct {
	r       *rand.Rand
	header  histories.Header
	ops     []histories.Op
	actions []action
	bad     bool // whether the generated history may contain violations
	late    bool // a client was killed, or its hold was lost, at or before the time at which its acquire returned
	lost    bool // the lock reported some hold as lost; the store may have kept that hold until the lease expired
	rash    int  // if violations are allowed, on average one of this many grants ignores the previous hold
	number  int64
	next    []time.Duration // earliest time of the next call, by client
	lives   []int32
	free    time.Duration // time at which the lock becomes free
	token   int64
	strange int32 // client number of the latest extra client; an extra client executes only one operation
}

// start begins a new history. The allowance for clock error is one unit of time.
func (g *generated) start(r *rand.Rand) {
	clients := 2 + r.IntN(3)
	*g = generated{r: r, header: histories.Header{Version: 1, Slack: 1, Exact: true}, ops: g.ops[:0], actions: g.actions[:0],
		bad: r.IntN(2) == 0, rash: 4, next: make([]time.Duration, clients), lives: make([]int32, clients), strange: 100}
}

func (g *generated) n(below int) time.Duration { return time.Duration(g.r.IntN(below)) }

// errs randomly decides whether to insert a violation. It returns false if the history must be legal.
func (g *generated) errs(oneIn int) bool { return g.bad && g.r.IntN(oneIn) == 0 }

func (g *generated) chance(oneIn int) bool { return g.r.IntN(oneIn) == 0 }

func (g *generated) add(op histories.Op, who int) {
	op.Key, op.Due = "k", op.Call
	g.ops = append(g.ops, op)
	g.actions = append(g.actions, action{op.Kind, op.Outcome, who, op.Fence, int64(op.Call), int64(op.Return)})
}

// grant generates a granted acquire. effect is the time at which the client gets the lock.
func (g *generated) grant() (op histories.Op, effect time.Duration) {
	c := g.r.IntN(len(g.next))
	g.number++
	call := g.next[c] + 1 + g.n(4)
	effect = max(call, g.free)
	if g.errs(g.rash) {
		effect = call
	}
	op = histories.Op{Client: int32(c), Life: g.lives[c], Hold: g.number, Kind: histories.Acquire, Outcome: histories.OK,
		Call: call, Return: effect + g.n(4), SentAfter: max(0, effect-g.n(3)-call), Validity: histories.Unbounded}
	return op, effect
}

// release generates the release of a grant. freed is the time at which the lock becomes free.
func (g *generated) release(grant histories.Op) (op histories.Op, freed time.Duration) {
	op = histories.Op{Client: grant.Client, Life: grant.Life, Hold: grant.Hold, Kind: histories.Release, Outcome: histories.OK}
	op.Call = grant.Return + 1 + g.n(6)
	freed = op.Call + g.n(4)
	op.Return = freed + g.n(4)
	g.next[grant.Client] = op.Return
	return op, freed
}

// kill generates a fault that ends the holder before it releases the lock. It returns the time at which the lock
// becomes free. The fault is often verified only after the next grant.
func (g *generated) kill(grant histories.Op, who int) (freed time.Duration) {
	op := histories.Op{Client: grant.Client, Life: grant.Life, Kind: histories.Inject, Outcome: histories.OK, Value: histories.Gone, Fault: "kill"}
	op.Call = max(grant.Call, grant.Return-2+g.n(8))
	op.Return = op.Call + g.n(12)
	freed = op.Call + g.n(10)
	op.Due = op.Call
	g.ops = append(g.ops, op)
	g.lives[grant.Client]++
	g.next[grant.Client] = max(op.Return, grant.Return) // the client number is reused, with a higher Life to distinguish the clients
	g.actions = append(g.actions, action{histories.Release, histories.Unknown, who, 0, int64(op.Call), int64(op.Return)})
	g.late = g.late || op.Call <= grant.Return
	return freed
}

// lose generates a report that a hold was lost, instead of a release. The report may arrive together with the grant.
func (g *generated) lose(grant histories.Op, who int) (freed time.Duration) {
	op := histories.Op{Client: grant.Client, Life: grant.Life, Hold: grant.Hold, Kind: histories.Lost, Outcome: histories.OK, Key: "k"}
	op.Call = grant.Return + g.n(4)
	op.Return = op.Call + g.n(12)
	freed = op.Call + g.n(4)
	op.Due = op.Call
	g.ops = append(g.ops, op)
	g.next[grant.Client] = op.Call
	g.actions = append(g.actions, action{histories.Release, histories.Unknown, who, 0, int64(op.Call), int64(op.Return)})
	g.lost, g.late = true, g.late || op.Call <= grant.Return
	return freed
}

// busy generates a refused acquire by a new client. The lock is held at that time, unless a violation is inserted.
func (g *generated) busy(from, to time.Duration) {
	at := from + g.n(int(to-from)+1)
	if g.errs(3) {
		at = g.n(int(to) + 8)
	}
	g.number++
	g.strange++
	op := histories.Op{Client: g.strange, Hold: g.number, Kind: histories.Acquire, Outcome: histories.Refused,
		Call: max(0, at-g.n(3)), Return: at + g.n(3)}
	g.add(op, int(g.strange))
}

func (g *generated) end() {
	slices.SortStableFunc(g.ops, func(a, b histories.Op) int { return cmp.Compare(a.Return, b.Return) })
}

// plain generates grants, releases, losses and refusals.
func (g *generated) plain() {
	for range 2 + g.r.IntN(5) {
		a, effect := g.grant()
		b, freed := g.release(a)
		g.add(a, int(a.Hold))
		g.free = max(g.free, freed)
		if g.chance(8) { // the hold is never released
			g.free = effect + 40
			g.lives[a.Client]++
			continue
		}
		if g.chance(8) {
			g.free = max(g.free, g.kill(a, int(a.Hold)))
			continue
		}
		if g.chance(8) {
			g.free = max(g.free, g.lose(a, int(a.Hold)))
			continue
		}
		g.add(b, int(a.Hold))
		if g.chance(3) {
			g.busy(effect, freed)
		}
	}
}

// fences generates grants with tokens. If violations are allowed, tokens may fall or repeat.
func (g *generated) fences() {
	for range 2 + g.r.IntN(5) {
		a, _ := g.grant()
		b, freed := g.release(a)
		g.free = max(g.free, freed)
		g.token += 1 + int64(g.r.IntN(2))
		if a.Fence = g.token; g.errs(4) {
			a.Fence = max(1, g.token-int64(g.r.IntN(4)))
		}
		g.add(a, int(a.Hold))
		g.add(b, int(a.Hold))
	}
}

// reentries generates nested acquires and their releases.
func (g *generated) reentries() {
	for range 2 + g.r.IntN(3) {
		a, effect := g.grant()
		who := int(a.Client)
		g.add(a, who)
		now, stack := a.Return, []int64{a.Hold}
		for len(stack) > 0 {
			op := histories.Op{Client: a.Client, Call: now + 1 + g.n(3), Outcome: histories.OK}
			op.Return = op.Call + g.n(3)
			now = op.Return
			if len(stack) < 3 && g.chance(3) {
				g.number++
				op.Kind, op.Hold = histories.Acquire, g.number
				if g.errs(6) {
					op.Outcome = histories.Refused
				} else {
					stack = append(stack, g.number)
				}
			} else {
				op.Kind, op.Hold = histories.Release, stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if g.errs(4) {
					g.free = max(g.free, op.Return) // violation: releasing a nested acquire frees the lock
				}
			}
			g.add(op, who)
		}
		g.next[a.Client] = now
		g.free = max(g.free, now)
		if g.chance(3) {
			g.busy(effect, max(effect, now-2))
		}
	}
}

// leases generates holds whose leases expire. Some releases are late or repeated, or come from another client.
func (g *generated) leases() {
	ttl := 10 + g.n(12)
	g.header.TTL = histories.Nanos(ttl)
	for range 2 + g.r.IntN(4) {
		a, _ := g.grant()
		a.Validity = ttl
		until, over := a.Call+a.SentAfter+ttl-1, a.Return+ttl+1
		who := int(a.Hold)
		g.add(a, who)
		g.actions = append(g.actions, action{expire, histories.OK, who, 0, int64(until), int64(until)},
			action{vanish, histories.OK, who, 0, int64(over), int64(over)})
		b, freed := g.release(a)
		if g.chance(3) { // the client holds the lock beyond its lease
			late := g.n(int(ttl) + 4)
			b.Call, b.Return, freed = b.Call+late, b.Return+late, freed+late
		}
		g.free = max(g.free, min(freed, until))
		g.next[a.Client] = b.Return
		if b.Call > over && !g.errs(3) || g.chance(8) {
			b.Outcome = histories.Refused
		}
		if g.chance(8) {
			g.lives[a.Client]++
			continue // the hold is never released
		}
		g.add(b, who)
		if g.chance(4) {
			b.Call = b.Return + 1 + g.n(6)
			b.Return = b.Call + g.n(3)
			g.next[a.Client] = b.Return
			if !g.errs(3) {
				b.Outcome = histories.Refused
			}
			g.add(b, who)
		}
		if g.chance(6) {
			g.byAnother(a)
		}
	}
}

// byAnother generates a release called by a client that holds nothing. The release names a hold of another client.
func (g *generated) byAnother(a histories.Op) {
	g.strange++
	op := histories.Op{Client: g.strange, Hold: a.Hold, Kind: histories.Release, Outcome: histories.Refused, Call: a.Return + 1 + g.n(12)}
	op.Return = op.Call + g.n(3)
	if g.errs(4) {
		op.Outcome = histories.OK
	}
	g.add(op, -2)
}

// indeterminate generates acquires and releases, some of them with an unknown outcome. In half of the histories, it
// also generates acquires by other clients that are refused (busy).
func (g *generated) indeterminate() {
	refusals := g.chance(2)
	g.rash = 2
	for range 4 + g.r.IntN(4) {
		a, effect := g.grant()
		c := a.Client
		if g.chance(4) {
			a.Outcome, a.SentAfter, a.Validity = histories.Unknown, 0, 0
			g.add(a, int(a.Hold))
			g.lives[c]++
			g.next[c] = a.Return
			continue
		}
		b, freed := g.release(a)
		if g.chance(4) {
			b.Outcome = histories.Unknown
			g.lives[c]++
		}
		g.free = max(g.free, freed)
		g.add(a, int(a.Hold))
		g.add(b, int(a.Hold))
		if refusals && g.chance(3) {
			g.busy(effect, freed)
		}
	}
}
