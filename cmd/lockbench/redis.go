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
	"time"

	"github.com/spf13/pflag"

	"lockbench/internal/servers"
	"lockbench/internal/trial"
)

const hintRedis = "an address is redis://host:port/database, or rediss:// for TLS; give the password in " + servers.PasswordVariable

// redisFlags are the servers of the user's own.
type redisFlags struct {
	list   secretList
	caFile string
}

func (f *redisFlags) define(fl *pflag.FlagSet, howMany string) {
	fl.Var(&f.list, "redis", "Redis servers of your own, with commas: redis://host:port, or rediss:// for TLS;\n"+
		howMany+". Give the password in "+servers.PasswordVariable+"\n(and "+servers.UserVariable+
		"), not here: other users of this machine can read command lines")
	fl.StringVar(&f.caFile, "redis-ca", "", "file of the certificates, in PEM, to trust with rediss:// (those of the system)")
}

// remote is what the flags come to.
func (f *redisFlags) remote() (servers.Remote, error) {
	if f.list == "" {
		if f.caFile != "" {
			return servers.Remote{}, usage(errors.New("--redis-ca without --redis"), hintRedis)
		}
		return servers.Remote{}, nil
	}
	r, err := servers.NewRemote(string(f.list), f.caFile, os.Getenv)
	if err != nil {
		return r, usage(fmt.Errorf("--redis: %w", err), hintRedis)
	}
	return r, nil
}

// secretList is a flag that never tells its secrets. It takes whatever it is given, because the flag
// library quotes what a flag refuses.
type secretList string

var _ pflag.Value = (*secretList)(nil)

func (s *secretList) Set(text string) error { *s = secretList(text); return nil }
func (s *secretList) Type() string          { return "URL[,URL...]" }

// String is for help texts and the line that reproduces a run.
func (s *secretList) String() string {
	if *s == "" {
		return ""
	}
	all, err := servers.ParseAddresses(string(*s), func(string) string { return "" })
	if err != nil {
		return "***"
	}
	return shown(all)
}

// shown shows addresses without their secrets.
func shown(all []servers.Address) string {
	var texts []string
	for _, a := range all {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ",")
}

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

// chooseServers settles where the locks run: --redis means servers of the user's own.
func (f *runFlags) chooseServers(chosen bool) (err error) {
	if f.remote, err = f.redis.remote(); err != nil {
		return err
	}
	given := len(f.remote.Addresses)
	switch {
	case !slices.Contains(servers.Ways(), f.servers):
		return unknown("kind of servers", f.servers, servers.Ways())
	case given > 0 && !chosen:
		f.servers = servers.External
	case given > 0 && f.servers != servers.External:
		return usage(fmt.Errorf("--redis names servers of your own, and --servers %s does not use them", f.servers), "leave out one of the two")
	case given == 0 && f.servers == servers.External:
		return usage(errors.New("--servers external needs --redis"), hintRedis)
	}
	if given != 0 && given != 1 && given != five {
		return usage(fmt.Errorf("--redis names %d servers: want 1, or %d for the locks that need %d", given, five, five), hintRedis)
	}
	return nil
}

// five is how many servers a lock of the deployment five needs.
const five = 5

// checkServers finds out, before anything is measured or written, whether there are servers for the locks.
func (r *runner) checkServers(ctx context.Context) error {
	stored := slices.ContainsFunc(r.cells, func(c trial.Cell) bool { return c.Lock.Store != "" })
	if !stored && len(r.notes) > 0 { // only a control would be left
		return usage(errors.New(strings.Join(r.notes, "; ")), "lockbench run --help says where locks can run")
	}
	if r.servers == servers.External {
		r.notes = append(r.notes, "the counters of servers of your own have in them whatever else those serve")
	}
	return r.preflight(ctx)
}

// preflight finds out, before anything is measured or written, whether servers come up at all.
func (r *runner) preflight(ctx context.Context) error {
	for _, c := range r.cells {
		if c.Lock.Store == "" {
			continue
		}
		spec := servers.Spec{How: r.servers, Store: c.Lock.Store, Deployment: c.On(), Remote: r.remote}
		if len(r.remote.Addresses) == five {
			spec.Deployment = servers.Five
		}
		g, err := servers.Start(ctx, spec)
		if err == nil {
			err = g.Stop()
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return &exit{code: exitInterrupted}
		case err != nil && r.servers == servers.External:
			return environment(err, hintRedis)
		case err != nil:
			return environment(err, "--servers embedded needs no server; see lockbench run --help")
		}
		return nil
	}
	return nil
}
