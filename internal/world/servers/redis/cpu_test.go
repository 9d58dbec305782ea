package redis

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

// TestProcessorTime checks that a busy server uses more processor time than an idle server.
func TestProcessorTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	busy, idle := startGroup(t, servers.Local, servers.Single), startGroup(t, servers.Local, servers.Single)
	opts, err := redis.ParseURL(busy.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	opts.ReadTimeout = time.Minute // the machine may be busy
	client := redis.NewClient(opts)
	defer client.Close()
	before, err := busy.ProcessorTime()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Eval(t.Context(), "local n = 0; while n < 50000000 do n = n + 1 end; return n", nil).Err(); err != nil {
		t.Fatal(err)
	}
	after, err := busy.ProcessorTime()
	other, otherErr := idle.ProcessorTime()
	if err != nil || otherErr != nil || after-before < 20*time.Millisecond || other >= after {
		t.Errorf("busy %v to %v (%v), idle %v (%v)", before, after, err, other, otherErr)
	}
	if _, err := startGroup(t, servers.Embedded, servers.Single).ProcessorTime(); !errors.Is(err, servers.ErrNoCounters) {
		t.Errorf("the emulator: %v", err)
	}
}
