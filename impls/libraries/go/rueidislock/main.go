//go:build ignore

// Command main lets lockbench test github.com/redis/rueidis/rueidislock.
package main

import (
	"os"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	worker "lockbench/impls/worker/go"
)

func main() {
	l := worker.Lock[rueidislock.Locker, hold]{Name: "rueidislock-go", Can: []string{worker.Watchdog, worker.Lost, worker.Notifies},
		Busy: rueidislock.ErrNotLocked, Acquire: acquire, Release: release,
		Expect: []worker.Expectation{{Property: "owner-release", Workload: "misuse", Verdict: "unspecified", Because: "a release is a function without a result"}}}
	var o rueidislock.LockerOption
	if len(os.Args) > 1 && os.Args[1] == "one-key" {
		l.Name, o.KeyMajority, o.NoLoopTracking = "rueidislock-go-one-key", 1, true
	}
	l.Open = func(env worker.Env) (locker rueidislock.Locker, err error) {
		o.KeyPrefix, o.KeyValidity = env.Prefix+"rueidislock", env.TTL
		if o.ClientOption, err = rueidis.ParseURL(env.Nodes[0]); err != nil {
			return nil, err
		}
		return rueidislock.NewLocker(o)
	}
	worker.Main(l)
}
