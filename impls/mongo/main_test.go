package mongo_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests, or a built-in server if the first argument is StoreVerb.
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
