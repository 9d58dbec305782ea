package impls

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Quiet()
	os.Exit(m.Run())
}
