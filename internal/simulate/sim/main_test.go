package sim

import (
	"os"
	"runtime/debug"
	"testing"

	redislocks "lockbench/impls/redis"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	debug.SetGCPercent(1600) // use the same garbage collection setting as the child processes of explore.Pool
	os.Exit(m.Run())
}
