package properties

import (
	"strings"

	"lockbench/histories"
)

// inventory checks that the orders of a product do not exceed its stock. If a product has several segments, each
// segment has a separate key: the product name, '#' and the segment.
type inventory struct {
	monitor
	products map[string]*product
	orders   int
	soldOut  int
}

type product struct {
	name      string
	initial   int64
	final     map[string]int64 // remaining stock at the end, by key
	ordered   int64
	beyond    histories.Op // first acknowledged purchase order that brought the total ordered quantity above the initial stock
	soldOut   histories.Op // first purchase order that was refused because nothing was left in stock
	segments  int
	inventory bool // whether the product was ordered
}

func (x *inventory) of(name string) *product {
	name, _, _ = strings.Cut(name, "#")
	if x.products == nil {
		x.products = map[string]*product{}
	}
	p, ok := x.products[name]
	if !ok {
		p = &product{name: name, final: map[string]int64{}}
		x.products[name] = p
	}
	return p
}

func (x *inventory) byHarness(op *histories.Op) {
	switch p := x.of(op.Key); {
	case op.Outcome != histories.OK:
	case op.Kind == histories.Write:
		p.initial += op.Value
		p.segments++
	case op.Kind == histories.Read:
		p.final[op.Key] = op.Value
	}
}

func (x *inventory) order(op *histories.Op) {
	if op.Stale() {
		return // the order was refused because of an old fencing token, not because the product was sold out
	}
	p := x.of(op.Key)
	p.inventory = true
	switch op.Outcome {
	case histories.OK:
		x.orders++
		p.ordered += op.Value
		if p.ordered > p.initial && p.beyond.Kind == 0 {
			p.beyond = *op
		}
	case histories.Refused:
		x.soldOut++
		if p.soldOut.Kind == 0 {
			p.soldOut = *op
		}
	}
}

func (x *inventory) atEnd() {
	for _, p := range x.products {
		if !p.inventory || p.segments == 0 {
			continue
		}
		left := int64(0)
		for _, n := range p.final {
			left += n
		}
		switch {
		case p.ordered > p.initial:
			x.violation(p, &p.beyond, "%s had %d in stock and %d orders of it were acknowledged; the first one too many was %s's at %s.",
				p.name, p.initial, p.ordered, &p.beyond, p.beyond.Return)
		case p.soldOut.Kind != 0 && left > 0 && len(p.final) == p.segments:
			x.violation(p, &p.soldOut, "%s got the answer at %s that %s was sold out, the stock had been %d, and %d were left at the end.",
				&p.soldOut, p.soldOut.Return, p.name, p.initial, left)
		}
	}
}

// violation counts a violation. The earliest violation is shown, so that the result does not depend on the iteration
// order of the map.
func (x *inventory) violation(p *product, op *histories.Op, format string, args ...any) {
	if x.countViolation() || op.Call < x.witness.From {
		x.show(p.name, op.Call, op.Return, []histories.Op{*op}, format, args...)
	}
}
