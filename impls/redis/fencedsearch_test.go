package redis_test

import (
	"runtime"
	"testing"

	"lockbench/impls/redis"
	"lockbench/internal/simulate/explore"
)

// TestFencedSharesMessages searches in virtual time for violations of the lock fenced, if almost all commands share messages. A
// search has few clients in a process, so that commands hardly ever share messages at the usual limit.
func TestFencedSharesMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("a search takes some seconds")
	}
	redis.Quiet()
	defer redis.SetMostInFlight(1)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // virtual time is reproducible only with one processor
	judged := 0
	for seed := range uint64(300) {
		s, err := explore.Subject{Lock: "fenced"}.Try(seed)
		if err != nil {
			t.Fatal(err)
		}
		if fails := s.Fails(); len(fails) > 0 || s.Failed != "" {
			t.Errorf("seed %d: %v violated %s", seed, fails, s.Failed)
		}
		judged += len(s.Expected)
	}
	if judged == 0 {
		t.Error("no property was expected to hold")
	}
}
