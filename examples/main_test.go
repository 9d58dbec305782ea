package examples

import (
	"context"
	"fmt"
	"os"
	"testing"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests. In a child process of a test, it runs a built-in server instead.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == servers.StoreVerb {
		if err := builtin.Serve(context.Background(), os.Args[2:], os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
