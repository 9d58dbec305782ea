package measure

import (
	"os"
	"testing"

	redislocks "lockbench/impls/redis"
	"lockbench/internal/world/builtin"
)

// TestMain runs the tests. In a child process of a test, it serves a store instead.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	builtin.ServeChild()
	os.Exit(m.Run())
}
