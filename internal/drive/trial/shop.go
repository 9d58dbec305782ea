package trial

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/shop"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/workloads"
)

// Default parameters of a shop. It has many buyers, and a hold takes longer than an acquire.
const (
	UsualBuyers = 40
	UsualHold   = 5 * time.Millisecond
)

// Asked holds the shop parameters that the user set. A nil parameter keeps its default value.
type Asked struct {
	Buyers *int
	Hold   *time.Duration
}

func (a Asked) of(p workloads.Params) workloads.Params {
	buyers, hold := UsualBuyers, UsualHold
	p.Clients, p.Hold = *cmp.Or(a.Buyers, &buyers), *cmp.Or(a.Hold, &hold)
	p.Processes = max(2, p.Processes)
	return p
}

// sale is a trial of a shop workload. Its clients are the buyers.
type sale struct {
	*trial
	stocked   *servers.Group // Redis server that stores the number of items left for sale; the lock is elsewhere
	stock     *shop.Stock
	processes []*shop.Process
	gate      *shop.Gate
}

func (s *sale) up(ctx context.Context) (err error) {
	if err := s.start(ctx); err != nil {
		return err
	}
	how := s.Servers
	if how == servers.External {
		how = servers.Auto // the server that counts the items left is always local, because only the lock is under test
	}
	if s.stocked, err = stores.Start(ctx, servers.Spec{How: how, Store: servers.Redis}); err != nil {
		return err
	}
	s.later(s.stocked.Stop)
	if s.stock, err = shop.OpenStock(s.stocked.URLs()[0], s.prefix); err != nil {
		return err
	}
	s.later(s.stock.Close)
	lock, err := s.open(s.Params.Processes)
	if err != nil {
		return err
	}
	s.fresh = workloads.Process{Lock: lock, Resource: s.stock}
	return s.staff(ctx)
}

func (s *sale) staff(ctx context.Context) error {
	keeper, err := children.New()
	if err != nil {
		return err
	}
	s.later(keeper.Close)
	s.later(func() error {
		return servers.Each(len(s.processes), func(i int) error { return s.processes[i].Close() })
	})
	wait := s.Params.Wait
	if wait == 0 {
		wait = -1
	}
	for process := range s.Params.Processes {
		p, err := shop.Start(ctx, keeper, []string{s.Self, "shop"}, shop.Opening{Open: s.opening(process, s.group.Front()),
			Stock: s.stocked.URLs()[0], Product: s.product(), TTL: s.Params.TTL, Wait: wait, Hold: s.Params.Hold})
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	if !s.Workload.Gated {
		return nil
	}
	dir, err := keeper.Folder() // folder for nginx's files
	if err != nil {
		return err
	}
	s.later(func() error { return os.RemoveAll(dir) })
	if s.gate, err = shop.StartGate(ctx, keeper, dir, s.processes, s.stocked.URLs()[0], s.stock.Keys(s.segments())); err == nil {
		s.later(s.gate.Close)
	}
	return err
}

func (s *sale) product() string { return s.Params.KeyNames()[0] }

func (s *sale) segments() []string { return workloads.SegmentsOf(s.fresh.Lock, s.product()) }

// drive lets buyers send orders to the shop until all items are sold, and for a while longer. It then checks that the
// lock is free.
func (s *sale) drive(ctx context.Context, rec *histories.Recorder) error {
	d := s.newDrive(rec, []workloads.Process{s.fresh})
	crowd := &shop.Sale{Services: s.processes, Gate: s.gate, Params: s.Params, Recorder: rec, Granted: s.granted}
	defer crowd.Close()
	return whilePulsed(ctx, rec, func(running context.Context) error {
		d.WriteInitial()
		if err := crowd.Open(running); err != nil {
			return err
		}
		var stock counted
		var errStock error
		lock, err := s.counting(ctx, s.group, func() {
			stock, errStock = s.counting(ctx, s.stocked, func() { crowd.Sell(running, s.sellTimeout()) })
		})
		if err := errors.Join(err, errStock); err != nil {
			return err
		}
		crowd.Linger(running, s.Params.Duration)
		figures, err := crowd.Figures(context.WithoutCancel(running))
		if err == nil {
			s.epilogue(running, d)
		}
		return errors.Join(err, s.writeSale(figures, lock, stock))
	})
}

// sellTimeout returns the time limit for selling all items. It is 30 s plus, for each item, three times
// the duration of one sale.
func (s *sale) sellTimeout() time.Duration {
	return 30*time.Second + time.Duration(s.Params.Stock)*3*(s.Params.Hold+5*time.Millisecond)
}

// writeSale writes shop.json, and counters.json with the counters of the lock's servers.
func (s *sale) writeSale(f shop.Figures, lock, stock counted) error {
	segments := s.segments()
	f.Segments, f.Form = len(segments), s.form(len(segments))
	for _, key := range segments {
		left, err := s.stock.Read(context.Background(), key, 0)
		if err != nil {
			return err
		}
		f.Left += left
	}
	f.LockCommands, f.StockCommands = lock.perOrder(f.Sold), stock.perOrder(f.Sold)
	return errors.Join(s.write("counters.json", lock), s.write("shop.json", f))
}

func (s *sale) form(segments int) string {
	var parts []string
	if segments > 1 {
		parts = append(parts, "split")
	}
	if s.Workload.Gated {
		parts = append(parts, "gated")
	}
	switch {
	case len(parts) == 0 && s.Lock.Store == "":
		return "unshared" // a lock without a store is local to each service
	case len(parts) == 0:
		return "plain"
	}
	return strings.Join(parts, " and ")
}

// perOrder returns the number of commands per order, or nil if the store does not count commands. It omits commands that
// connect or read counters.
func (c counted) perOrder(orders int) *float64 {
	if c.Before == nil || c.After == nil || orders == 0 {
		return nil
	}
	n, counts := 0.0, false
	for name, after := range c.After {
		command, isCall := strings.CutPrefix(name, "calls.")
		command, _, _ = strings.Cut(command, "|")
		switch command {
		case "info", "config", "ping", "hello", "client", "auth", "select", "command", "script":
			counts = true
		default:
			if isCall {
				n += after - c.Before[name]
			}
		}
	}
	if !counts { // the store is not Redis and has other counters
		return nil
	}
	n /= float64(orders)
	return &n
}
