package properties

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// maxGrants is the maximum number of grants stored per key. Older grants are dropped, which can hide a violation but
// cannot cause a false report.
const maxGrants = 1 << 13

// tokens checks that each grant has a higher fencing token than earlier grants of the key.
type tokens struct {
	monitor
	keys    projection.PerKey[minted]
	open    map[int32]time.Duration // call time of the outstanding acquire, by client
	fenced  int
	bare    int // number of grants without a token
	ordered int // number of grants requested after an earlier grant was received; their tokens must be higher than the earlier token
}

// minted stores recent grants of one key, in the order in which they were received. The tokens of later grants are
// compared with their tokens.
type minted struct {
	grants []*projection.Hold
	top    []*projection.Hold         // top[i] is the grant with the highest token among grants[:i+1] and the grants removed before them
	by     map[int64]*projection.Hold // grants by token
}

func (x *tokens) Event(_ *projection.Key, ev histories.Event) {
	op := ev.Op
	switch {
	case op.Kind != histories.Acquire:
	case ev.Return:
		delete(x.open, op.Client)
	default:
		x.open[op.Client] = op.Call
	}
}

// Fault handles a fault that ends a client. It removes the outstanding acquire of the client, because that acquire may
// never return.
func (x *tokens) Fault(ev histories.Event) { delete(x.open, ev.Op.Client) }

func (x *tokens) Change(k *projection.Key, h *projection.Hold, c projection.Change) {
	switch {
	case c != projection.Began:
	case h.Acquire.Fence == 0:
		x.bare++
	default:
		x.granted(k, x.keys.Of(k), h)
	}
}

func (x *tokens) granted(k *projection.Key, m *minted, h *projection.Hold) {
	x.fenced++
	sent := h.Acquire.Call + h.Acquire.SentAfter
	before := sort.Search(len(m.grants), func(i int) bool { return m.grants[i].Granted >= sent })
	if before > 0 {
		x.ordered++
	}
	same := m.by[h.Acquire.Fence]
	switch {
	case same != nil && reentered(same, h):
	case before > 0 && m.top[before-1].Acquire.Fence >= h.Acquire.Fence:
		x.violation(k, m.top[before-1], h)
	case same != nil:
		x.violation(k, same, h)
	}
	if m.by == nil {
		m.by = map[int64]*projection.Hold{}
	}
	top := h
	if n := len(m.top); n > 0 && m.top[n-1].Acquire.Fence >= h.Acquire.Fence {
		top = m.top[n-1]
	}
	m.grants, m.top, m.by[h.Acquire.Fence] = append(m.grants, h), append(m.top, top), h
	if n := len(m.grants); n >= 64 && n&(n-1) == 0 || n >= maxGrants {
		oldest := h.Granted // earliest call time of the outstanding acquires
		for _, call := range x.open {
			oldest = min(oldest, call)
		}
		m.forget(oldest)
	}
}

// reentered reports whether the client of a hold requested it during an earlier one, whose loss was then reported before the answer.
// The store granted it as nested, so both have the same token.
func reentered(earlier, h *projection.Hold) bool {
	return earlier.Acquire.Client == h.Acquire.Client && h.Acquire.Depth > 1 && h.Acquire.Call < earlier.End
}

// forget drops grants that were received before the given time. It keeps the last of these grants, and at most
// maxGrants/2 grants in total.
func (m *minted) forget(before time.Duration) {
	n := sort.Search(len(m.grants), func(i int) bool { return m.grants[i].Granted >= before }) - 1
	n = max(n, len(m.grants)-maxGrants/2)
	if n <= 0 {
		return
	}
	for _, h := range m.grants[:n] {
		delete(m.by, h.Acquire.Fence)
	}
	m.grants, m.top = slices.Delete(m.grants, 0, n), slices.Delete(m.top, 0, n)
}

func (x *tokens) violation(k *projection.Key, first, second *projection.Hold) {
	if !x.countViolation() {
		return
	}
	a, b := &first.Acquire, &second.Acquire
	sentence := x.tell("; %s requested it after that, at %s, and was granted it at %s with token %d, which is lower.", b, b.Call+b.SentAfter, b.Return, b.Fence)
	if a.Fence == b.Fence {
		sentence = x.tell(", and %s was granted it with the same token at %s.", b, b.Return)
	}
	x.show(k.Name, a.Return, b.Return, []histories.Op{*a, *b}, "%s was granted %s with token %d at %s%s", a, k.Name, a.Fence, a.Return, sentence)
}

func (x *tokens) Finding() checker.Finding {
	return x.finding(
		fmt.Sprintf("%s, %d of them requested after an earlier grant was received", checker.Count(x.fenced, "token"), x.ordered),
		reason{x.fenced == 0, checker.NotApplicable, "no grant carries a token"},
		reason{x.bare > 0, checker.Undecided, fmt.Sprintf("%d of %d grants carry no token", x.bare, x.bare+x.fenced)})
}
