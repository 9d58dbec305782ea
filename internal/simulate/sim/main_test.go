package sim

import (
	"os"
	"runtime/debug"
	"testing"

	redislocks "lockbench/impls/redis"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	debug.SetGCPercent(400) // as an exploring process has it
	os.Exit(m.Run())
}
