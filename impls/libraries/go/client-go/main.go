//go:build ignore

// Command main lets lockbench test the leader election of k8s.io/client-go. A hold is a term as the leader.
package main

import (
	"strings"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	worker "lockbench/impls/worker/go"
)

type client = *coordination.CoordinationV1Client

func main() {
	worker.Main(worker.Lock[client, *term]{Name: "client-go-leaderelection", Store: "kubernetes", Can: []string{worker.Watchdog, worker.Lost},
		Shortest: 3 * time.Second, Step: time.Second, Backoff: 2200 * time.Millisecond / 5, // the retry period with its greatest jitter
		Acquire: acquire, Open: func(env worker.Env) (client, error) {
			address := "http://" + strings.TrimPrefix(env.Nodes[0], "kubernetes://")
			return coordination.NewForConfig(&rest.Config{Host: address, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
		},
		Release: release,
	})
}
