package examples

import (
	"os"
	"testing"

	"lockbench/internal/world/builtin"
)

// TestMain runs the tests. In a child process of a test, it runs a built-in server instead.
func TestMain(m *testing.M) {
	builtin.ServeChild()
	os.Exit(m.Run())
}
