package workloads

// writeFenced is counter on a register that looks at fencing tokens when it is written only, as articles have
// it. Whoever has read under a newer token may then still be overtaken by an older one's write.
func writeFenced() Workload {
	w := counter()
	w.Name, w.Special, w.Fenced, w.Check = "write-fenced", true, true, CheckingWrites
	w.Doc = "counter on a register that checks fencing tokens on writes, and not on reads"
	return w
}
