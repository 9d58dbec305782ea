package servers

import "time"

// ProcessorTime is what the group's processes have taken so far, theirs and their children's. ErrNoCounters: they are not
// ours, or this system does not tell.
func (g *Group) ProcessorTime() (time.Duration, error) {
	var pids []int
	for _, n := range g.Nodes {
		l, ok := n.(interface{ ours() *local })
		if !ok {
			return 0, ErrNoCounters
		}
		if c := l.ours().child.Load(); c != nil {
			pids = append(pids, c.Pid())
		}
	}
	return processorTime(pids)
}
