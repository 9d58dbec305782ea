package decision

import (
	"fmt"
)

// limit holds a figure to a limit. Where the interval has the limit in it, nobody can tell.
func (d *deciding) limit(o Option, name string, at float64, most bool, scale float64, what string) Cell {
	var c criterion
	for _, c = range criteria() {
		if c.Name == name {
			break
		}
	}
	v := d.value(o, c)
	if !v.known {
		return Cell{Answer: DontKnow, Tag: Unknown, Text: "not known: " + v.why}
	}
	at *= scale
	low, high := v.median, v.median
	if v.low != nil {
		low, high = *v.low, *v.high
	}
	cell := Cell{Tag: Measured, Evidence: []string{v.figure.ID}, Text: fmt.Sprintf("%s: %s, and %s%s is asked for", c.Title, v.cell(o, c).Text, figure(at), unit(c.Unit))}
	switch {
	case most && high <= at, !most && low >= at:
		cell.Answer = Yes
	case most && low > at, !most && high < at:
		cell.Answer = No
	default:
		cell.Answer, cell.Tag, cell.Text = DontKnow, Unknown, "too noisy to tell: "+cell.Text
	}
	cell.Text += what
	return cell
}

func fastEnough(d *deciding, o Option) Cell {
	return d.limit(o, "goodput", d.needs.Rate, false, 1, "")
}

func soonEnough(d *deciding, o Option) Cell {
	return d.limit(o, "wait", d.needs.Wait.Seconds(), true, 1e3, " of the longest wait")
}

// evenly is the share that the client with the fewest grants must have of those of the one with the most, to be called fair.
const evenly = 0.5

func fairEnough(d *deciding, o Option) Cell {
	return d.limit(o, "fairness", evenly, false, 1, " at the least")
}

func cheapEnough(d *deciding, o Option) Cell {
	return d.limit(o, "commands", d.needs.Commands, true, 1, " at most")
}
