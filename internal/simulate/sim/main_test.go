package sim

import (
	"os"
	"runtime/debug"
	"testing"

	redislocks "lockbench/impls/redis"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	debug.SetGCPercent(400) // as in an exploring process
	os.Exit(m.Run())
}
