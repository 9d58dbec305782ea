package workloads

// flashSaleGated is the workload flashSale with a gate in front of the shop. The gate reads the stock, and rejects buyers once
// everything is sold.
func flashSaleGated() Workload {
	w := flashSale()
	w.Name, w.Gated = "flash-sale-gated", true
	w.Usual = []string{"set-px-lua"}
	w.Doc = "flash-sale behind nginx, which reads the stock and rejects buyers once all is sold"
	return w
}
