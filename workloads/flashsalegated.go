package workloads

// flashSaleGated is flash-sale behind a gate that reads the stock and rejects buyers once all is sold: the second
// acceleration.
func flashSaleGated() Workload {
	w := flashSale()
	w.Name, w.Gated = "flash-sale-gated", true
	w.Usual = []string{"set-px-lua"}
	w.Doc = "flash-sale behind nginx, which reads the stock and rejects buyers once all is sold"
	return w
}
