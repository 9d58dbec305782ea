package sim

import (
	"os"
	"runtime/debug"
	"testing"

	redislocks "lockbench/impls/redis"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	debug.SetGCPercent(400) // garbage collection as in the child processes of explore.Pool
	os.Exit(m.Run())
}
