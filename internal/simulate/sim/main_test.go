package sim

import (
	"os"
	"testing"

	redislocks "lockbench/impls/redis"
)

func TestMain(m *testing.M) {
	redislocks.Quiet()
	os.Exit(m.Run())
}
