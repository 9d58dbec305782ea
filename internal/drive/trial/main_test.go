package trial

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"lockbench/impls"
	"lockbench/impls/catalog"
	redislocks "lockbench/impls/redis"
	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/shop"
	"lockbench/internal/world/builtin"
	"lockbench/workloads"
)

// TestMain runs the tests. In a child process of a test, it runs a worker, a shop service or a store instead.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := worker.Serve(os.Stdin, os.Stdout, aboutNamed, openNamed); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "shop" {
		if err := shop.Serve(os.Stdin, os.Stdout, openLock); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	builtin.ServeChild()
	if err := flag.Set("test.parallel", "3"); err != nil { // several trials can run at once, because they spend most of their time waiting
		panic(err)
	}
	os.Exit(m.Run())
}

func aboutNamed(o worker.Open) (worker.About, error) {
	l, err := findLock(o.Lock)
	return worker.AboutLock(l), err
}

func openNamed(o worker.Open, env impls.Env) (impls.Lock, error) {
	l, err := findLock(o.Lock)
	if err != nil {
		return nil, err
	}
	return l.Open(env)
}

// openLock opens the lock that a shop service uses.
func openLock(lock string, env impls.Env) (impls.Lock, error) {
	if lock == sham().Name {
		return sham().Open(env)
	}
	return openNamed(worker.Open{Lock: lock}, env)
}

// lockNamed returns a lock of the catalog.
func lockNamed(t *testing.T, name string) impls.Impl {
	t.Helper()
	l, err := findLock(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func findLock(name string) (impls.Impl, error) {
	all := catalog.All()
	i := slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == name })
	if i < 0 {
		return impls.Impl{}, fmt.Errorf("there is no lock %q", name)
	}
	return all[i], nil
}

// namedWorkload returns a workload by its name. The default is the workload counter.
func namedWorkload(name string) workloads.Workload {
	name = cmp.Or(name, "counter")
	all := workloads.All()
	return all[slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == name })]
}

// namedFault returns a fault by its name.
func namedFault(name string) faults.Fault {
	all := faults.All()
	return all[slices.IndexFunc(all, func(f faults.Fault) bool { return f.Name == name })]
}
