package trial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/catalog"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/shop"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// saleSetting returns a Setting for flash-sale trials with the given hold time.
func saleSetting(t *testing.T, hold time.Duration) Setting {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Run: "test", Servers: servers.Auto, Params: workloads.Defaults(), Self: own, Asked: Asked{Hold: &hold}}
	s.Params.Stock = 100
	return s
}

func saleCell(t *testing.T, lock, workload string) Cell {
	t.Helper()
	l := lockNamed(t, lock)
	return Cell{Lock: l, Workload: namedWorkload(workload), Fault: faults.None()}
}

// needGate skips a test if nginx is missing.
func needGate(t *testing.T) {
	t.Helper()
	err := shop.GateSupported()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "nginx-lua"):
		t.Fatal("LOCKBENCH_REQUIRE names nginx-lua: ", err)
	default:
		t.Skip(err)
	}
}

func figuresOf(t *testing.T, out Outcome) (f shop.Figures) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out.Dir, "shop.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFlashSale checks that every shop workload sells exactly the items in stock and meets every expectation. Without a
// gate, every order after the last sale must reach a shop process. With a gate, at most one in twenty of these orders
// may.
func TestFlashSale(t *testing.T) {
	for _, c := range []struct{ form, lock, workload string }{
		{"plain", "set-px-lua", "flash-sale"}, {"split", "segmented", "flash-sale"},
		{"gated", "set-px-lua", "flash-sale-gated"}, {"split and gated", "segmented", "flash-sale-gated"},
	} {
		t.Run(c.form, func(t *testing.T) {
			gated := strings.HasSuffix(c.workload, "gated")
			if gated {
				needGate(t)
			}
			_, out := saleSetting(t, 5*time.Millisecond).tryOnce(t, saleCell(t, c.lock, c.workload))
			f := figuresOf(t, out)
			if f.Form != c.form || f.Sold != f.Stock || f.Left != 0 || f.Stock != 100 || f.Unknown+f.Busy != 0 || f.Processes < 2 {
				t.Errorf("not exactly the stock was sold: %+v", f)
			}
			if !gated && f.Reached != f.Late || gated && f.Reached*20 > f.Late || f.Late == 0 {
				t.Errorf("of %d orders after the sell-out %d reached a service", f.Late, f.Reached)
			}
			evidence := out.Verdict.Findings[slices.IndexFunc(out.Verdict.Findings, func(f checker.Finding) bool { return f.Property == "resource-integrity" })].Evidence
			if !strings.Contains(evidence, "100 orders") {
				t.Errorf("the orders are not in the record: %s", evidence)
			}
			if n := soldUnderAHold(t, out); n != f.Sold {
				t.Errorf("the record has holds for %d of %d orders", n, f.Sold)
			}
		})
	}
}

// soldUnderAHold returns the number of sold items for which the history contains a hold.
func soldUnderAHold(t *testing.T, out Outcome) (n int) {
	t.Helper()
	r, err := histories.Open(filepath.Join(out.Dir, "history.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	held := map[int64]bool{}
	_, err = histories.Replay(r.Next, func(ev histories.Event) error {
		switch op := ev.Op; {
		case !ev.Return || op.Outcome != histories.OK:
		case op.Kind == histories.Acquire:
			held[op.Hold] = true
		case op.Kind == histories.Append && held[op.Hold]:
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSplitStockSellsFaster checks that a stock in five segments sells at least four times as fast as an undivided stock. It
// makes up to three attempts, because other load can slow a sale.
func TestSplitStockSellsFaster(t *testing.T) {
	needRedis(t)
	s := saleSetting(t, 20*time.Millisecond)
	best := 0.0
	for range 3 {
		_, plain := s.tryOnce(t, saleCell(t, "set-px-lua", "flash-sale"))
		_, split := s.tryOnce(t, saleCell(t, "segmented", "flash-sale"))
		p, f := figuresOf(t, plain), figuresOf(t, split)
		t.Logf("plain %.0f orders a second, split in %d %.0f: %.2f times", p.Goodput, f.Segments, f.Goodput, f.Goodput/p.Goodput)
		if best = max(best, f.Goodput/p.Goodput); best >= 4 {
			break
		}
	}
	if best < 4 {
		t.Errorf("at best %.2f times as many orders a second", best)
	}
}

// sham is a lock that grants every acquire at once.
func sham() impls.Impl {
	return impls.Impl{Name: "sham", Store: servers.Redis, Deployment: servers.Single,
		Open: func(impls.Env) (impls.Lock, error) { return catalog.All()[0].Open(impls.Env{}) }}
}

// TestOversold checks a shop with a lock that grants every acquire. The verdict must be that mutual exclusion and resource
// integrity are violated.
func TestOversold(t *testing.T) {
	s := saleSetting(t, 2*time.Millisecond)
	var granted atomic.Int64
	out, err := s.Try(t.Context(), Cell{Lock: sham(), Workload: namedWorkload("flash-sale"), Fault: faults.None()}, t.TempDir(), 0, &granted)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Verdict.Findings {
		if slices.Contains([]string{"mutual-exclusion", "resource-integrity"}, f.Property) && f.Observed != checker.Violated {
			t.Errorf("%s: %s", f.Property, f.Observed)
		}
	}
}
