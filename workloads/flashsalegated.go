package workloads

// flashSaleGated is flash-sale with a gate in front, the second acceleration: it looks at the stock, and turns buyers away
// itself once all is sold.
func flashSaleGated() Workload {
	w := flashSale()
	w.Name, w.Gated = "flash-sale-gated", true
	w.Usual = []string{"set-px-lua"}
	w.Doc = "flash-sale behind nginx, which looks at the stock and turns buyers away by itself once all is sold"
	return w
}
