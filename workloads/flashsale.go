package workloads

// flashSale is the shop of the articles: an order service in several processes, a lock, and the stock in a separate Redis.
// Clients send HTTP requests; the services read, work and write under the lock, as inventory does. A lock that splits its
// key splits the stock as well: the first of the two accelerations.
func flashSale() Workload {
	return Workload{
		Name: "flash-sale", Guarded: true, Served: true,
		Usual: []string{"none", "local-mutex", "set-px-lua", "segmented"},
		Doc:   "a shop over HTTP: service processes sell the stock in a separate Redis until it is sold out",
		Adapt: func(p *Params) { p.Initial, p.Keys, p.Spread = p.Stock, 1, One },
	}
}
