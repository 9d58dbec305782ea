//go:build ignore

// Command main lets lockbench test the leader election of k8s.io/client-go. A hold is a term as the leader.
package main

import (
	"os"
	"strings"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	worker "lockbench/impls/worker/go"
)

type client = *coordination.CoordinationV1Client

var tuned = len(os.Args) > 1

// promised returns the part of a lease for which no other client is elected. A record has its time in seconds, so other clients may
// count the lease from up to a second before the last renewal.
func promised(lease time.Duration) time.Duration { return lease - time.Second }

// deadline returns the time after which a leader that cannot renew stops.
func deadline(lease time.Duration) time.Duration {
	if tuned {
		return lease / 3
	}
	return lease * 2 / 3 // as by default
}

func main() {
	name := "client-go-leaderelection"
	if tuned {
		name += "-tuned"
	}
	worker.Main(worker.Lock[client, *term]{Name: name, Store: "kubernetes", Can: []string{worker.Watchdog, worker.Lost},
		Shortest: 3 * time.Second, Step: time.Second, Backoff: 2200 * time.Millisecond / 5, // the retry period with its greatest jitter
		Expect: []worker.Expectation{{Property: "lease-exclusion", Fault: "process-pause", Verdict: "unspecified",
			Because: "documented not to guarantee one leader: after a pause a leader may renew the lease, although another one led meanwhile"}},
		Acquire: acquire, Open: func(env worker.Env) (client, error) {
			address := "http://" + strings.TrimPrefix(env.Nodes[0], "kubernetes://")
			return coordination.NewForConfig(&rest.Config{Host: address, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
		},
		Release: release,
	})
}
