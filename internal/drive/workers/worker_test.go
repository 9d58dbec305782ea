//go:build unix

package workers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/impls/worker"
)

// TestMain runs the tests, or a worker if the first argument names a behaviour.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "as-worker" {
		os.Exit(m.Run())
	}
	misbehave(os.Args[2])
}

// misbehave runs a worker. The first argument or the key of a request determines its behaviour.
func misbehave(how string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 2*worker.MaxLine)
	fmt.Fprintln(os.Stderr, "this is the log of", how)
	switch how {
	case "chatty":
		fmt.Println("Listening on port 7")
	case "silent":
		time.Sleep(time.Hour) // without cgo, the runtime would report an empty select as a deadlock
	case "old":
		fmt.Println(`{"lockbench_worker":0,"name":"old"}`)
	case "unable":
		fmt.Println(`{"lockbench_worker":1,"name":"unable","error":"no such server"}`)
	case "brief":
		os.Exit(7)
	case "deaf":
		in.Scan()
		fmt.Println(`{"lockbench_worker":1,"name":"deaf"}`)
		time.Sleep(time.Hour) // without cgo, the runtime would report select {} as a deadlock
	case "cancels":
		fmt.Println(`{"lockbench_worker":2,"name":"cancels","capabilities":["cancel"]}`)
	default:
		fmt.Printf(`{"lockbench_worker":1,"name":"scripted","capabilities":["lost","probe"],"segments":["#0","#1"]}` + "\n")
	}
	s := scripted{}
	for in.Scan() {
		var r worker.Request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			os.Exit(9)
		}
		if r.Do == "shutdown" && how != "stubborn" {
			return
		}
		s.answer(r)
	}
	if how == "stubborn" {
		time.Sleep(time.Hour) // without cgo, the runtime would report select {} as a deadlock
	}
}

// scripted is a fake worker. The key of a request determines its reply, which is often invalid.
type scripted struct {
	mu         sync.Mutex
	released   int
	unanswered int64 // ID of the acquire that is answered when it is cancelled
}

func (s *scripted) answer(r worker.Request) {
	key := r.Key
	switch {
	case key == "dies":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
	case key == "hangs":
	case key == "until cancelled":
		s.unanswered = r.ID
	case r.Do == "cancel" && r.Hold == s.unanswered:
		fmt.Printf(`{"id":%d,"refused":"busy"}`+"\n", r.Hold)
	case key == "garbage":
		fmt.Println("DEBUG acquired the lock")
	case key == "never asked":
		fmt.Println(`{"id":999,"ok":true}`)
	case key == "twice":
		fmt.Printf(`{"id":%d,"refused":"busy"}`+"\n"+`{"id":%[1]d,"ok":true}`+"\n", r.ID)
	case key == "long":
		fmt.Println(`{"id":1,"error":"` + strings.Repeat("x", worker.MaxLine) + `"}`)
	case key == "mute":
		os.Stdout.Close()
	case key == "refuses":
		fmt.Printf(`{"id":%d,"refused":"Tuesday"}`+"\n", r.ID)
	case key == "late" && r.Do == "acquire":
		time.AfterFunc(300*time.Millisecond, func() { s.grant(r.ID) })
	case key == "lost":
		fmt.Printf(`{"renewed":%[1]d,"ok":true,"elapsed_ns":1}`+"\n"+`{"id":%[1]d,"ok":true,"token":"t","sent_after_ns":3600000000000,"validity_ns":5}`+"\n", r.ID)
	case key == "loses now": // the worker reports the loss of the previous hold before it replies to this request
		fmt.Printf(`{"renewed":%[2]d,"ok":true,"elapsed_ns":7,"validity_ns":9}`+"\n"+`{"lost":%[2]d,"elapsed_ns":3600000000000}`+"\n"+`{"id":%[1]d,"ok":true}`+"\n", r.ID, r.ID-1)
	case r.Do == "release":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.released++
		fmt.Printf(`{"id":%d,"ok":true}`+"\n", r.ID)
	case r.Do == "probe":
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Printf(`{"id":%d,"ok":true,"left_ns":%d}`+"\n", r.ID, s.released)
	case r.Do == "acquire":
		s.grant(r.ID)
	case r.ID != 0:
		fmt.Printf(`{"id":%d,"ok":true}`+"\n", r.ID)
	}
}

func (s *scripted) grant(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf(`{"id":%d,"ok":true,"token":"t%[1]d","validity_ns":1000000000}`+"\n", id)
}
