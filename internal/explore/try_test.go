package explore

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"lockbench/impls"
)

func TestScratch(t *testing.T) {
	impls.Quiet()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	n, _ := strconv.Atoi(os.Getenv("N"))
	for _, l := range impls.All() {
		if l.Store == "" || l.Deployment == "replica" {
			continue
		}
		s := Subject{Lock: l.Name}
		start := time.Now()
		var virtual time.Duration
		first, count, broken := map[string]uint64{}, map[string]int{}, map[string][]uint64{}
		fails := 0
		for seed := range uint64(n) {
			x, err := s.Try(seed)
			if err != nil {
				t.Errorf("%s %d: %v", l.Name, seed, err)
				continue
			}
			if x.Failed != "" {
				fails++
				t.Logf("%s %d: %s", l.Name, seed, x.Failed)
			}
			virtual += x.Virtual
			for _, v := range x.Violated {
				if count[v] == 0 {
					first[v] = seed
				}
				count[v]++
			}
			for _, v := range x.Broken() {
				broken[v] = append(broken[v], seed)
			}
		}
		fmt.Printf("%-22s %.0f virtual/s; first %v count %v BROKEN %v failed %d\n", l.Name, virtual.Seconds()/time.Since(start).Seconds(), first, count, broken, fails)
	}
}

func TestShow(t *testing.T) {
	impls.Quiet()
	runtime.GOMAXPROCS(1)
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	s := Subject{Lock: os.Getenv("LOCK"), Deployment: os.Getenv("ON")}
	c, strategy, _ := s.Choose(seed)
	fmt.Println(strategy, c.Deployment, c.Workload, fmt.Sprintf("%+v", c.Params))
	for _, st := range c.Plan.Steps {
		on := ""
		if st.When.On != nil {
			on = fmt.Sprintf("%+v", *st.When.On)
		}
		fmt.Printf("  %s when %+v later %v on %s do %+v for %v until %+v\n", st.Name, st.When.At, st.When.Later, on, st.Do, st.For, st.Until)
	}
	r, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("void:", r.Void)
	for _, f := range r.Verdict.Findings {
		if f.Witness != nil {
			fmt.Println("*", f.Property, r.Header.Claim(f.Property).Expected, f.Witness.Story)
			for _, op := range f.Witness.Ops {
				fmt.Printf("     %v %d %d %v..%v %v %q\n", op.Kind, op.Client, op.Hold, op.Call, op.Return, op.Outcome, op.Error)
			}
		}
	}
	if os.Getenv("OPS") != "" {
		for _, op := range r.Ops {
			fmt.Printf("  c%d.%d h%d %v %v..%v %v v=%v d=%d val=%v sent=%v f=%s %q\n", op.Client, op.Life, op.Hold, op.Kind, op.Call, op.Return, op.Outcome, op.Value, op.Depth, op.Validity, op.SentAfter, op.Fault, op.Error)
		}
	}
}
