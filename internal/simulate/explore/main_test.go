package explore

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"lockbench/impls"
	redislocks "lockbench/impls/redis"
	"lockbench/impls/worker"
)

// TestMain runs the tests. If a Pool started this process, it serves the requests of the Pool instead.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	debug.SetGCPercent(1600) // use the same garbage collection setting as a Pool's child processes
	switch {
	case len(os.Args) == 2 && os.Args[1] == "explorer":
		if err := Serve(os.Stdin, os.Stdout, func() { os.Exit(0) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "worker":
		if err := worker.Serve(os.Stdin, os.Stdout, aboutNamed, openNamed); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "mortal":
		mortal()
	default:
		os.Exit(m.Run())
	}
}

func aboutNamed(o worker.Open) (worker.About, error) {
	l, err := lockNamed(o.Lock)
	return worker.AboutLock(l), err
}

func openNamed(o worker.Open, env impls.Env) (impls.Lock, error) {
	l, err := lockNamed(o.Lock)
	if err != nil {
		return nil, err
	}
	return l.Open(env)
}

// mortal serves requests like a Pool's child process, but exits when it receives seed 2.
func mortal() {
	for requests := json.NewDecoder(os.Stdin); ; {
		var q request
		if requests.Decode(&q) != nil {
			return
		}
		var r reply
		for seed := q.From; seed < q.From+q.Count; seed++ {
			if seed == 2 {
				fmt.Fprintln(os.Stderr, "out of ideas")
				os.Exit(3)
			}
			r.Seeds = append(r.Seeds, Seed{Seed: seed})
		}
		_ = json.NewEncoder(os.Stdout).Encode(r)
	}
}
