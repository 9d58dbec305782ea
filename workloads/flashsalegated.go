package workloads

// flashSaleGated returns the workload flash-sale with nginx in front of the shop. The nginx server reads the stock, and
// rejects orders when the stock is 0.
func flashSaleGated() Workload {
	w := flashSale()
	w.Name, w.Gated = "flash-sale-gated", true
	w.Usual = []string{"set-px-lua"}
	w.Doc = "flash-sale behind nginx, which reads the stock and rejects buyers once all is sold"
	return w
}
