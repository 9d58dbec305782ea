package measure

import (
	"context"
	"fmt"
	"os"
	"testing"

	redislocks "lockbench/impls/redis"
	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests. In a child process of a test, it serves a store instead.
func TestMain(m *testing.M) {
	redislocks.Quiet()
	if len(os.Args) > 1 && os.Args[1] == servers.StoreVerb {
		if err := builtin.Serve(context.Background(), os.Args[2:], os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
