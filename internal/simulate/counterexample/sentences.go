package counterexample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/histories"
)

// at is a time since the trial began, in ms.
func at(t time.Duration) string { return fmt.Sprintf("%.1f ms", float64(t)/float64(time.Millisecond)) }

// lasting is a duration for people: three digits or so.
func lasting(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d%time.Second == 0 && d != 0:
		return fmt.Sprintf("%d s", d/time.Second)
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 100 || d%time.Millisecond == 0:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// counted is a number and its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listed joins words as people do.
func listed(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + and + " " + words[last]
}

// client names a client, the first time with its process, if there are several.
func (s *teller) client(c int32) string {
	switch {
	case c == histories.Harness:
		return "lockbench"
	case s.fresh(c):
		return "a fresh client, when all others are done,"
	case s.Params.Processes > 1 && !s.named[c]:
		s.named[c] = true
		return fmt.Sprintf("client %d (process %d)", c, int(c)%s.Params.Processes)
	}
	return fmt.Sprintf("client %d", c)
}

// patient is how long an acquire takes that had to wait.
const patient = 10 * time.Millisecond

// parted is how a moment is told beside the others: an acquire or a release at its call, if nothing else happens until
// it returns; in two parts, if a fault befalls its own client meanwhile; else an acquire is told as it returns.
func (s *teller) parted(m *moment, all []*moment) []*moment {
	if m.fault != nil || len(m.ops) != 1 || s.again(m.ops[0]) {
		return []*moment{m}
	}
	op := m.ops[0]
	if op.Kind != histories.Acquire && op.Kind != histories.Release {
		return []*moment{m}
	}
	own, others := s.meanwhile(m, all)
	others = others || op.Return-op.Call > patient && len(s.others(op, op.Return)) > 0
	switch {
	case own:
		return s.halves(m, op)
	case others && op.Kind == histories.Acquire && !op.Open() && op.Outcome != histories.Refused:
		m.at, m.rank = op.Return, ends
		m.tell = func() string { return s.answered(op) }
	}
	return []*moment{m}
}

// meanwhile tells whether faults of its own client, or anything else that is told, happen while an operation is under way.
func (s *teller) meanwhile(m *moment, all []*moment) (own, others bool) {
	op := m.ops[0]
	inside := func(t time.Duration) bool { return t > op.Call && (op.Open() || t < op.Return) }
	hits := func(o *moment) bool { return o.fault != nil && (inside(o.at) || o.rank == strikes && o.at == op.Call) }
	for _, o := range all {
		if o == m {
			continue
		}
		if hits(o) && slices.Contains(o.fault.victims, op.Client) {
			own = true
		}
		if hits(o) || inside(o.at) && (o.fault != nil || o.ops[0].Kind != histories.Acquire) {
			others = true
		}
		others = others || len(o.ops) > 0 && o.ops[0].Kind == histories.Acquire && (inside(o.ops[0].Return) || inside(o.ops[len(o.ops)-1].Return))
	}
	return own, others
}

// halves are the call and the return of an operation.
func (s *teller) halves(m *moment, op *histories.Op) []*moment {
	first := &moment{at: op.Call, rank: begins, weight: m.weight, ops: m.ops, tell: func() string { return s.asks(op) }}
	second := &moment{at: op.Return, rank: ends, weight: m.weight, ops: m.ops, tell: func() string { return s.answered(op) }}
	if op.Kind == histories.Release {
		first.tell = func() string {
			return fmt.Sprintf("%s is done and begins to give %s back", s.client(op.Client), op.Key)
		}
		second.tell = func() string { return s.gave(op) }
	}
	if op.Open() || s.gone(op) || op.Return > s.until && !s.inWitness(op) {
		return []*moment{first}
	}
	return []*moment{first, second}
}

// askingWhole tells an acquire, or several that were refused, in one sentence, from its call.
func (s *teller) askingWhole(m *moment) string {
	op := m.ops[0]
	if len(m.ops) > 1 {
		return s.client(op.Client) + inVain(m.ops)
	}
	asks := s.asks(op)
	switch {
	case op.Open() && s.gone(op):
		return asks
	case op.Open():
		return asks + " and has no answer yet when the record ends"
	case op.Outcome == histories.Refused:
		return fmt.Sprintf("%s and is refused at %s (%s)", asks, at(op.Return), op.Error)
	case op.Outcome == histories.Unknown:
		return fmt.Sprintf("%s and does not learn whether it has it (at %s: %s)", asks, at(op.Return), op.Error)
	}
	return fmt.Sprintf("%s and is granted it at %s%s", asks, at(op.Return), s.terms(op))
}

// asks tells the call of an acquire.
func (s *teller) asks(op *histories.Op) string {
	who := s.client(op.Client)
	if slices.ContainsFunc(s.holds, func(h *tenure) bool {
		return h.acquire.Client == op.Client && h.acquire.Key == op.Key && h.acquire.Return <= op.Call && op.Call < h.end
	}) {
		return fmt.Sprintf("%s, which holds %s, asks for it once more", who, op.Key)
	}
	return fmt.Sprintf("%s asks for %s", who, op.Key)
}

// inVain tells tries that were refused, or of which nobody knows what became.
func inVain(tries []*histories.Op) string {
	last := tries[len(tries)-1]
	asks := fmt.Sprintf(" asks for %s %d times until %s", last.Key, len(tries), at(last.Return))
	missing := 0
	for _, op := range tries {
		if op.Outcome == histories.Unknown {
			missing++
		}
	}
	switch missing {
	case 0:
		return fmt.Sprintf("%s, and is refused each time (%s)", asks, last.Error)
	case len(tries):
		return asks + ", and never learns whether it has it"
	}
	return fmt.Sprintf("%s, is refused %s, and does not learn %s whether it has it", asks, times(len(tries)-missing), times(missing))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// answered tells the return of an acquire that began before what was told last.
func (s *teller) answered(op *histories.Op) string {
	who := fmt.Sprintf("%s, having asked at %s,", s.client(op.Client), at(op.Call))
	if op.Return-op.Call > patient {
		who = fmt.Sprintf("%s, waiting since %s,", s.client(op.Client), at(op.Call))
	}
	switch op.Outcome {
	case histories.Refused:
		return fmt.Sprintf("%s is refused %s (%s)", who, op.Key, op.Error)
	case histories.Unknown:
		return fmt.Sprintf("%s does not learn whether it has %s (%s)", who, op.Key, op.Error)
	}
	return fmt.Sprintf("%s is granted %s%s", who, op.Key, s.terms(op))
}

// terms are what a grant says, and how the holds of others stand then.
func (s *teller) terms(op *histories.Op) string {
	text := ""
	if op.Fence != 0 && slices.Contains([]string{"fencing", "resource-integrity"}, s.property) {
		text = fmt.Sprintf(", with token %d", op.Fence)
	}
	until, ok := op.Until(0)
	although := ", although"
	switch {
	case !ok:
	case op.Validity == histories.Unbounded:
		text += ", for as long as it likes"
	case until <= op.Return:
		text += fmt.Sprintf(", on a lease that was over at %s", at(until))
		although = ";"
	case !s.dated:
		s.dated = true
		text += fmt.Sprintf(": until %s, says the lock", at(until))
	default:
		text += ", until " + at(until)
	}
	var late, having []string
	for _, h := range s.others(op, op.Return) {
		who := s.client(h.acquire.Client)
		until, ok := h.promise(op.Return)
		switch {
		case ok && until <= op.Return:
			late = append(late, fmt.Sprintf("%s still believes that it holds %s: its lease was over at %s", upper(who), op.Key, at(until)))
		case ok && until < histories.Forever:
			having = append(having, fmt.Sprintf("%s holds it until %s", who, at(until)))
		default:
			having = append(having, who+" holds it")
		}
	}
	if having != nil {
		text += although + " " + listed(having, "and")
	}
	return strings.Join(append([]string{text}, late...), ". ")
}

// upper begins a sentence.
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// giving tells a release in one sentence.
func (s *teller) giving(op *histories.Op) string {
	if s.again(op) {
		return fmt.Sprintf("%s gives %s back once, having taken it more than once, and %s", s.client(op.Client), op.Key, outcome(op))
	}
	text := fmt.Sprintf("%s gives %s back and %s", s.client(op.Client), op.Key, outcome(op))
	entitled := slices.ContainsFunc(s.holds, func(h *tenure) bool {
		until, ok := h.promise(op.Call)
		return h.release == op && ok && op.Call < until
	})
	var who []string
	for _, h := range s.others(op, op.Call) {
		until, ok := h.promise(op.Call)
		name, since := s.client(h.acquire.Client), at(h.acquire.Return)
		switch {
		case ok && until <= op.Call:
			who = append(who, name+" still believes that it holds it")
		case entitled && op.Outcome == histories.OK && s.later(op, h):
			who = append(who, fmt.Sprintf("%s was granted it meanwhile, at %s", name, since))
		default:
			who = append(who, fmt.Sprintf("%s holds it since %s", name, since))
		}
	}
	switch {
	case who == nil:
		return text
	case op.Outcome != histories.OK:
		return text + ": " + listed(who, "and")
	case entitled:
		return text + "; " + listed(who, "and")
	}
	return text + ", though " + listed(who, "and")
}

// later tells whether a hold began after that which an operation ends.
func (s *teller) later(release *histories.Op, than *tenure) bool {
	return slices.ContainsFunc(s.holds, func(h *tenure) bool { return h.release == release && h.acquire.Return < than.acquire.Return })
}

// gave tells the end of a release that began before what was told last.
func (s *teller) gave(op *histories.Op) string {
	text := fmt.Sprintf("%s, giving %s back since %s, %s", s.client(op.Client), op.Key, at(op.Call), outcome(op))
	var who []string
	for _, h := range s.others(op, op.Return) {
		who = append(who, fmt.Sprintf("by now %s holds it, since %s", s.client(h.acquire.Client), at(h.acquire.Return)))
	}
	if who != nil {
		text += "; " + listed(who, "and")
	}
	return text
}

// outcome is how a release came out.
func outcome(op *histories.Op) string {
	switch {
	case op.Open():
		return "has no answer when the record ends"
	case op.Outcome == histories.OK:
		return "is answered ok"
	case op.Outcome == histories.Refused:
		return fmt.Sprintf("is answered %q", op.Error)
	}
	return fmt.Sprintf("does not learn what became of that (%s)", op.Error)
}

func (s *teller) renewing(op *histories.Op) string {
	client := s.client(op.Client)
	who := fmt.Sprintf("the lock of %s extends its hold of %s", client, op.Key)
	until, _ := op.Until(0)
	switch op.Outcome {
	case histories.OK:
		return fmt.Sprintf("%s, asked for at %s, until %s", who, at(op.Call), at(until))
	case histories.Refused:
		return fmt.Sprintf("the lock of %s cannot extend its hold of %s (%s)", client, op.Key, op.Error)
	}
	return fmt.Sprintf("%s, or does not: it is not told (%s)", who, op.Error)
}

func (s *teller) using(op *histories.Op) string {
	who, what := s.client(op.Client), ""
	switch op.Kind {
	case histories.Read:
		what = fmt.Sprintf("reads what %s guards: %d", op.Key, op.Value)
	case histories.Write:
		what = fmt.Sprintf("writes %d", op.Value)
	default:
		what = "adds one"
	}
	if op.Fence != 0 {
		what += fmt.Sprintf(", with token %d", op.Fence)
	}
	switch {
	case op.Outcome == histories.Refused:
		what += fmt.Sprintf(", and is refused (%s)", op.Error)
	case op.Outcome == histories.Unknown:
		what += ", and does not learn what became of that"
	}
	return who + " " + what
}

func (s *teller) probing(op *histories.Op) string {
	says := "somebody else's"
	switch {
	case op.Outcome != histories.OK:
		says = "nothing"
	case op.Value == histories.ProbeFree:
		says = "free"
	case op.Value == histories.ProbeMine:
		says = "its own"
	}
	return fmt.Sprintf("%s asks the store whose %s is: %s", s.client(op.Client), op.Key, says)
}

// quietly tells holds that went as they should.
func (s *teller) quietly(m *moment) string {
	var who []string
	for _, op := range m.ops {
		if name := strconv.Itoa(int(op.Client)); !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	last := at(m.ops[len(m.ops)-1].Call)
	n := 0
	for _, op := range m.ops {
		if op.Kind == histories.Acquire {
			n++
		}
	}
	switch {
	case n == 1:
		return fmt.Sprintf("%s is granted %s and gives it back at %s, as it should", s.client(m.ops[0].Client), m.ops[0].Key, last)
	case len(who) == 1:
		return fmt.Sprintf("%s is granted %s and gives it back, %d times until %s, as it should", s.client(m.ops[0].Client), m.ops[0].Key, n, last)
	default:
		return fmt.Sprintf("clients %s are granted %s in turn and give it back, %d times in all until %s, as they should", listed(who, "and"), m.ops[0].Key, n, last)
	}
}
