package run

import (
	"fmt"
	"slices"

	"lockbench/checker"
	"lockbench/histories"
)

// band is a fault in a drawing: over its client's lane, or over all where it was not aimed at one.
type band struct {
	X, Y, W, H     float64
	Label          string // where there is room beside the others of its row
	LabelX, LabelY float64
	Title          string
	Unseen         bool // it was not seen to take effect
}

// mostBands is how many faults a drawing shows at most.
const mostBands = 40

// bands draws the faults that lie within the time of the drawing. Of those aimed at clients it shows those whose
// clients are in it.
func (d *drawer) bands(faults []checker.Band) {
	room := map[float64]float64{} // by row: where the next label may begin
	for _, f := range faults {
		to := f.To
		if to == histories.StillOpen {
			to = max(d.to, f.From)
		}
		_, shown := d.lane[f.Client]
		all := f.Client == histories.Harness
		if f.From > d.to || to < d.from || !all && !shown || len(d.Bands) == mostBands {
			continue
		}
		b := band{Unseen: !f.Effective, X: d.x(f.From), Y: d.y(f.Client) + 1, H: laneHeight - 2}
		b.LabelY = b.Y + 11
		if all {
			b.Y, b.H = laneTop, d.Bottom-laneTop
			b.LabelY = d.Bottom - 4
		}
		b.W = max(2, d.x(to)-b.X)
		d.nameBand(&b, f, room)
		d.Bands = append(d.Bands, b)
	}
}

// nameBand puts the fault's name at the beginning of its band, within the drawing.
func (d *drawer) nameBand(b *band, f checker.Band, room map[float64]float64) {
	name := f.Name
	if !f.Effective {
		name += ", not seen to take effect"
	}
	b.Title = fmt.Sprintf("%s, from %s", name, d.since(f.From))
	if f.To != histories.StillOpen {
		b.Title += " to " + d.since(f.To)
	}
	wide := float64(len(name)) * bandGlyph
	x := min(b.X+4, d.Right-wide)
	if next := room[b.LabelY]; x < next {
		if x = next; x+wide > b.X+b.W {
			return
		}
	}
	b.Label, b.LabelX = name, x
	room[b.LabelY] = x + wide + 8
}

// bandGlyph is the width of a letter in a band's label, about.
const bandGlyph = 5.8

// within are the faults that lie within the time of a witness.
func within(faults []checker.Band, w *checker.Witness) []checker.Band {
	var d drawer
	d.span(w)
	return slices.DeleteFunc(slices.Clone(faults), func(f checker.Band) bool {
		return f.From > d.to || f.To != histories.StillOpen && f.To < d.from
	})
}
