package workloads

// flashSale simulates an online shop: an order service in several processes, a lock, and the stock in a separate Redis.
// Clients send HTTP requests. Under the lock, a service reads the stock, works and writes. If the lock splits a key
// into segments, the stock is split in the same way.
func flashSale() Workload {
	return Workload{
		Name: "flash-sale", Guarded: true, Served: true,
		Usual: []string{"none", "local-mutex", "set-px-lua", "segmented"},
		Doc:   "a shop over HTTP: service processes sell the stock in a separate Redis until it is sold out",
		Adapt: func(p *Params) { p.Initial, p.Keys, p.Spread = p.Stock, 1, One },
	}
}
