package workloads

// writeFenced is counter on a resource that checks fencing tokens only on writes, as articles have it. A client that has
// read with a newer token may still be overtaken by the write of an older one.
func writeFenced() Workload {
	w := counter()
	w.Name, w.Special, w.Fenced, w.Check = "write-fenced", true, true, CheckingWrites
	w.Doc = "counter on a resource that checks fencing tokens on writes and not on reads"
	return w
}
