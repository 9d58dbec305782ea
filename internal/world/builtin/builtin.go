// Package builtin runs the servers that are part of this program: etcd, FerretDB, and a stand-in for the API server of
// Kubernetes. Serve takes the name and the arguments of a server and runs it in this process. The harness calls Serve in
// a child process, so that the server can be paused and killed.
package builtin

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	world "lockbench/internal/world/servers"
)

// servers maps the name of each server to the function that runs it. The function returns when its context ends. Its
// last argument receives the log.
var servers = map[string]func(ctx context.Context, args []string, says io.Writer) error{"etcd": etcd, "ferretdb": ferretDB,
	"kubernetes": kubernetes}

// ServeChild runs a server and exits if the first command-line argument is servers.StoreVerb. Otherwise it does nothing.
// Call it in TestMain of a package that starts built-in servers, because such a test starts its own program.
func ServeChild() {
	if len(os.Args) < 2 || os.Args[1] != world.StoreVerb {
		return
	}
	if err := Serve(context.Background(), os.Args[2:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Serve runs a server. The first argument is its name, and the server gets the other arguments.
func Serve(ctx context.Context, args []string, says io.Writer) error {
	if len(args) > 0 && servers[args[0]] != nil {
		return servers[args[0]](ctx, args[1:], says)
	}
	return fmt.Errorf("start a built-in server: want the name of a store: %s", strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
}
