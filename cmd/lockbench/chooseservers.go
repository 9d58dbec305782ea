package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// credentials finds what stands before the @ of a URL, and rather too much than too little.
var credentials = regexp.MustCompile(`://[^\n]*@`)

// scrub is the last line of defence: a URL with a password that was given in the wrong place, say as the
// name of a lock, comes back in the error that says so.
func scrub(text string) string { return credentials.ReplaceAllString(text, "://***@") }

// runID names a run; on a server that others use too it must be nobody else's.
func runID(now time.Time) string {
	random := make([]byte, 8)
	rand.Read(random) // it never fails: the runtime ends the process instead
	return fmt.Sprintf("%s-%d-%s", now.UTC().Format("20060102150405"), os.Getpid(), hex.EncodeToString(random))
}

// chooseServers settles where the locks run: to name servers means those, for the stores of which some are named.
func (f *runFlags) chooseServers(chosen bool) (err error) {
	if f.remote, err = f.own.remote(); err != nil {
		return err
	}
	named := f.remote.Named()
	switch {
	case !slices.Contains(servers.Ways(), f.servers):
		return unknown("kind of servers", f.servers, servers.Ways())
	case named && !chosen:
		f.servers = servers.External
	case named && f.servers != servers.External:
		return usage(fmt.Errorf("%s names servers of your own, and --servers %s does not use them", f.own.flags(), f.servers), "leave out one of the two")
	case !named && f.servers == servers.External:
		return usage(fmt.Errorf("--servers external needs --redis, or one of %s", strings.Join(targetFlags(), ", ")), hintOwn)
	}
	if given := len(f.remote.Of(servers.Redis)); given != 0 && given != 1 && given != five {
		return usage(fmt.Errorf("--redis names %d servers: want 1, or %d for the locks that need %d", given, five, five), hintOwn)
	}
	return nil
}

// five is how many servers a lock of the deployment five needs.
const five = 5

// checkServers finds out, before anything is measured or written, whether there are servers for the locks.
func (r *runner) checkServers(ctx context.Context) error {
	if r.servers != servers.External { // there what was named is what is wanted
		if err := required(r.missing); err != nil {
			return err
		}
	}
	if len(r.stores()) == 0 && len(r.notes) > 0 { // only a control would be left
		err := errors.New(strings.Join(r.notes, "; "))
		switch {
		case r.servers == servers.External:
			return usage(err, hintOwn)
		case len(r.missing) > 0:
			return environment(err, "a store that is not here: "+stores.Provide(r.missing[0]))
		}
		return usage(err, "lockbench run --help says where locks can run")
	}
	if r.servers == servers.External {
		r.notes = append(r.notes, "the counters of servers of your own have in them whatever else those serve")
	}
	return r.preflight(ctx)
}

// required says that a store is missing which the environment calls required: where it was to be looked at, that it was
// left out must not pass.
func required(missing []string) error {
	asked := strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ",")
	for _, store := range missing {
		if slices.Contains(asked, store) || slices.Contains(asked, stores.Product(store)) {
			return environment(fmt.Errorf("%s is missing, and LOCKBENCH_REQUIRE asks for it", store), stores.Provide(store))
		}
	}
	return nil
}

// preflight finds out, before anything is measured or written, whether servers of each store come up at all.
func (r *runner) preflight(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return environment(err, "some servers are this program itself")
	}
	first := map[string]servers.Spec{}
	for _, c := range r.cells {
		of := c.Lock.Store
		if _, seen := first[of]; seen || of == "" {
			continue
		}
		first[of] = servers.Spec{How: r.servers, Store: of, Deployment: c.On(), Remote: r.remote, Self: self}
		if of == servers.Redis && len(r.remote.Of(servers.Redis)) == five {
			first[of] = servers.Spec{How: r.servers, Store: of, Deployment: servers.Five, Remote: r.remote, Self: self}
		}
	}
	errs := make([]error, 0, len(first))
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, spec := range first {
		all.Go(func() {
			g, err := stores.Start(ctx, spec)
			if err == nil {
				err = g.Stop()
			}
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		})
	}
	all.Wait()
	switch err := errors.Join(errs...); {
	case err != nil && ctx.Err() != nil:
		return &exit{code: exitInterrupted}
	case err != nil && r.servers == servers.External:
		return environment(err, hintOwn)
	case err != nil:
		return environment(err, "--servers embedded needs no server; see lockbench run --help")
	}
	return nil
}
