// Package builtin has servers that are Go modules: each runs in a process of this program's own, so that it can be
// paused and killed as any other server can, and nothing has to be installed.
package builtin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// server serves until its context ends. It says what it has to say on the writer.
type server struct {
	name string
	run  func(ctx context.Context, args []string, says io.Writer) error
}

func servers() []server { return []server{{"etcd", etcd}, {"ferretdb", ferretDB}} }

// Serve is one of them: the first argument is its name, and the others are its own.
func Serve(ctx context.Context, args []string, says io.Writer) error {
	var names []string
	for _, s := range servers() {
		names = append(names, s.name)
	}
	if len(args) == 0 || !slices.Contains(names, args[0]) {
		return fmt.Errorf("want the name of a store: %s", strings.Join(names, ", "))
	}
	return servers()[slices.Index(names, args[0])].run(ctx, args[1:], says)
}
