package workloads

// flashSale is the shop of the articles: an order service in several processes, a lock, and the stock in a Redis of its
// own. What a client does is an HTTP request; the services read, work and write under the lock, as inventory does. With a
// lock that splits its key the stock is split the same way, which is the first of the two accelerations.
func flashSale() Workload {
	return Workload{
		Name: "flash-sale", Guarded: true, Served: true,
		Usual: []string{"none", "local-mutex", "set-px-lua", "segmented"},
		Doc:   "a shop over HTTP: services in processes of their own sell a stock in a Redis of its own until it is sold out",
		Adapt: func(p *Params) { p.Initial, p.Keys, p.Spread = p.Stock, 1, One },
	}
}
