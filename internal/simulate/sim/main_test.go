package sim

import (
	"os"
	"testing"

	"lockbench/impls"
)

func TestMain(m *testing.M) {
	impls.Quiet()
	os.Exit(m.Run())
}
