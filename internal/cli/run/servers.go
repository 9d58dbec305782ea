package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// checkServers finds out, before anything is measured or written, whether there are servers for the locks.
func (r *Runner) checkServers(ctx context.Context) error {
	if r.servers.How != servers.External { // there what was named is what is wanted
		if err := choice.Required(r.missing); err != nil {
			return err
		}
	}
	if len(r.stores()) == 0 && len(r.notes) > 0 { // only a control would be left
		err := errors.New(strings.Join(r.notes, "; "))
		switch {
		case r.servers.How == servers.External:
			return console.Usage(err, choice.HintOwn)
		case len(r.missing) > 0:
			return console.Environment(err, "a store that is not here: "+stores.Provide(r.missing[0]))
		}
		return console.Usage(err, "lockbench run --help says where locks can run")
	}
	if r.servers.How == servers.External {
		r.notes = append(r.notes, "the counters of servers of your own have in them whatever else those serve")
	}
	return r.preflight(ctx)
}

// preflight finds out, before anything is measured or written, whether servers of each store come up at all.
func (r *Runner) preflight(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return console.Environment(err, "some servers are this program itself")
	}
	seen := map[string]bool{}
	all, starting := errgroup.WithContext(ctx) // the first that fails ends the others
	for _, c := range r.cells {
		spec := servers.Spec{How: r.servers.How, Store: c.Lock.Store, Deployment: c.On(), Remote: r.servers.Remote, Self: self}
		if seen[spec.Store] || spec.Store == "" {
			continue
		}
		seen[spec.Store] = true
		if spec.Store == servers.Redis && len(r.servers.Remote.Of(servers.Redis)) == choice.Five {
			spec.Deployment = servers.Five
		}
		all.Go(func() error {
			g, err := stores.Start(starting, spec)
			if err == nil {
				err = g.Stop()
			}
			return err
		})
	}
	switch err := all.Wait(); {
	case err != nil && ctx.Err() != nil:
		return &console.Exit{Code: console.ExitInterrupted}
	case err != nil && r.servers.How == servers.External:
		return console.Environment(err, choice.HintOwn)
	case err != nil:
		return console.Environment(err, "--servers embedded needs no server; see lockbench run --help")
	}
	return nil
}

// sayServers tells where the locks will run, before anything is measured there.
func (r *Runner) sayServers() {
	switch {
	case r.servers.How == servers.External:
		fmt.Fprintf(r.stderr, "servers: your own, %s; every key begins with %s and goes after its trial\n",
			choice.Shown(r.servers.Remote), servers.KeyPrefix(r.setting.Run))
	case len(r.stores()) > 0:
		fmt.Fprintf(r.stderr, "servers: each trial has its own, on loopback, of %s\n", strings.Join(r.stores(), ", "))
	}
	switch {
	case r.manifest.Servers != servers.Embedded || !slices.Contains(r.stores(), servers.Redis):
	case r.servers.How == servers.Auto:
		fmt.Fprintln(r.stderr, "servers: no redis-server on the PATH, so an embedded emulator stands in; its latencies compare with nothing")
		fmt.Fprintln(r.stderr, "hint: for real figures, apt install redis-server")
	default:
		fmt.Fprintln(r.stderr, "servers: the embedded emulator of Redis; its latencies compare with nothing")
	}
}

// stores are what the locks of the run talk to.
func (r *Runner) stores() []string {
	var names []string
	for _, c := range r.cells {
		if s := c.Lock.Store; s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}
