package sim

import (
	"os"
	"runtime/debug"
	"testing"

	"lockbench/impls"
)

func TestMain(m *testing.M) {
	impls.Quiet()
	debug.SetGCPercent(400) // as an exploring process has it
	os.Exit(m.Run())
}
