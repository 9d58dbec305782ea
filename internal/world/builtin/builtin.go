// Package builtin has servers that are Go modules: each runs in a process of this program's own, so that it can be
// paused and killed as any other server can, and nothing has to be installed.
package builtin

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// servers serve until their context ends, and write what they have to say.
var servers = map[string]func(ctx context.Context, args []string, says io.Writer) error{"etcd": etcd, "ferretdb": ferretDB}

// Serve runs the server that the first argument names; the other arguments are its own.
func Serve(ctx context.Context, args []string, says io.Writer) error {
	if len(args) > 0 && servers[args[0]] != nil {
		return servers[args[0]](ctx, args[1:], says)
	}
	return fmt.Errorf("want the name of a store: %s", strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
}
