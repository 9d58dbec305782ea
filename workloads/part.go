package workloads

// Part selects the clients, the processes and the arrivals of one machine, if the clients of a workload run on several machines.
// Machine Index of Of machines has each number n for which n modulo Of is Index. The zero Part selects all.
type Part struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

// Whole reports whether all clients run on one machine.
func (p Part) Whole() bool { return p.Of == 0 }

// Owns reports whether a number of a client, a process or an arrival belongs to the part.
func (p Part) Owns(n int) bool { return p.Whole() || n%p.Of == p.Index }

// Divides reports whether clients of the workload can run on several machines. They cannot if they share a resource in the
// memory of one process, or if one client performs the operations of another.
func (w Workload) Divides() bool { return !w.Guarded && !w.Served && !w.Paired }
