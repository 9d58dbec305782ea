package workloads

// writeFenced is like the workload "counter", but its resource checks fencing tokens only on writes. A client with an
// older token can still write after a client with a newer token has read.
func writeFenced() Workload {
	w := counter()
	w.Name, w.Special, w.Fenced, w.Check = "write-fenced", true, true, CheckingWrites
	w.Doc = "counter on a resource that checks fencing tokens on writes and not on reads"
	return w
}
