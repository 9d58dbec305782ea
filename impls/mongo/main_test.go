package mongo_test

import (
	"os"
	"testing"

	"lockbench/internal/world/builtin"
)

// TestMain runs the tests, or a built-in server if the first argument is StoreVerb.
func TestMain(m *testing.M) {
	builtin.ServeChild()
	os.Exit(m.Run())
}
