package choice

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/cli/console"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// HintOwn is the hint for errors about external servers of any store.
const HintOwn = "docs/reference/containers.md shows the address of each store"

// hintOn returns the hint for an invalid address of a store's external servers.
func hintOn(of servers.Store) string {
	hint := fmt.Sprintf("--%s takes %s", of.Name, of.External.Example)
	if of.Name == servers.Redis {
		hint += ", or rediss:// for TLS"
	}
	if variable := of.PasswordVariable(); variable != "" {
		hint += "; the password is read from " + variable
	}
	return hint
}

// Unreached returns the error for external servers that do not respond, with the hint for their store.
func Unreached(err error) error {
	var u *servers.Unreachable
	if !errors.As(err, &u) {
		return console.Environment(err, HintOwn)
	}
	of, _ := stores.Find(u.Target.Store())
	hint := hintOn(of)
	if u.Refused {
		hint = fmt.Sprintf("is it running? Nothing listens at %s; %s", u.Host, hint)
	}
	return console.Environment(u, hint)
}

// Reach returns an error if an external server that the user named does not respond.
func (s *Servers) Reach(ctx context.Context) error {
	errs := make([]error, len(s.Remote.Targets))
	var all sync.WaitGroup
	for i, t := range s.Remote.Targets { // check all servers at once, because an unreachable server is detected only after a timeout
		all.Go(func() { errs[i] = t.Reach(ctx) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return Unreached(err)
	}
	return nil
}

// Servers holds the flags that select servers for the locks. Settle sets Remote to the external servers that the flags name.
type Servers struct {
	Own
	How    string // value of --servers; servers.Ways returns the valid values
	Remote servers.Remote
}

// Five is the number of servers in the deployment named five.
const Five = 5

// Define defines the flag --servers and the flags for external servers.
func (s *Servers) Define(fl *pflag.FlagSet) {
	fl.StringVar(&s.How, "servers", servers.Auto, "servers: "+strings.Join(servers.Ways(), ", "))
	s.Own.Define(fl)
}

// Settle checks the flags and sets Remote. If the flags name external servers and --servers is not set, locks run on the
// external servers.
func (s *Servers) Settle(cmd *cobra.Command) (err error) {
	if s.Remote, err = s.Own.Remote(); err != nil {
		return err
	}
	named := s.Remote.Named()
	switch {
	case !slices.Contains(servers.Ways(), s.How):
		return console.Unknown("kind of servers", s.How, servers.Ways())
	case named && !cmd.Flags().Changed("servers"):
		s.How = servers.External
	case named && s.How != servers.External:
		return console.Usage(fmt.Errorf("%s names your own servers, and --servers %s does not use them", strings.Join(s.given(), " and "), s.How), "leave out one of the two")
	case !named && s.How == servers.External:
		var flags []string
		for _, f := range s.Own.flags[1:] {
			flags = append(flags, "--"+f.store.Name)
		}
		return console.Usage(fmt.Errorf("--servers external needs --redis, or one of %s", strings.Join(flags, ", ")), HintOwn)
	}
	if given := len(s.Remote.Of(servers.Redis)); given != 0 && given != 1 && given != Five {
		return console.Usage(fmt.Errorf("--redis names %d servers: want 1, or %d for the locks that need %d", given, Five, Five), hintOn(s.Own.flags[0].store))
	}
	return nil
}

// Required returns an error if the environment variable LOCKBENCH_REQUIRE names one of the missing stores. CI then fails
// instead of skipping a test.
func Required(missing []string) error {
	asked := strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ",")
	for _, store := range missing {
		if slices.Contains(asked, store) || slices.Contains(asked, stores.Product(store)) {
			return console.Environment(fmt.Errorf("%s is missing, and LOCKBENCH_REQUIRE names it", store), stores.Provide(store))
		}
	}
	return nil
}

// RunID returns a new id for a run. It is unique even among runs on several machines that share a server.
func RunID() string {
	random := make([]byte, 8)
	rand.Read(random) // rand.Read never returns an error
	return fmt.Sprintf("%s-%d-%x", time.Now().UTC().Format("20060102150405"), os.Getpid(), random)
}

// Own holds the flags that name the user's external servers.
type Own struct {
	caFile string
	flags  []*addressFlag // the flag of Redis, followed by the flags of the other stores
}

// Define defines one flag per store, and --redis-ca.
func (o *Own) Define(fl *pflag.FlagSet) {
	redis, _ := stores.Find(servers.Redis)
	for _, of := range append([]servers.Store{redis}, stores.External()...) {
		f := &addressFlag{store: of}
		o.flags = append(o.flags, f)
		fl.Var(f, of.Name, "your own servers: "+of.External.Example)
		if of.Name == servers.Redis {
			fl.StringVar(&o.caFile, "redis-ca", "", "PEM file of certificates for rediss:// (the system's)")
		}
	}
}

// Remote returns the external servers that the flags name.
func (o *Own) Remote() (servers.Remote, error) {
	var all servers.Remote
	if o.caFile != "" && !slices.Contains(o.given(), "--"+servers.Redis) {
		return all, console.Usage(errors.New("--redis-ca needs --redis"), hintOn(o.flags[0].store))
	}
	for _, f := range o.flags {
		if f.text == "" {
			continue
		}
		targets, err := f.parse(o.caFile, os.Getenv)
		if err != nil {
			return all, console.Usage(fmt.Errorf("--%s: %w", f.store.Name, err), hintOn(f.store))
		}
		all.Targets = append(all.Targets, targets...)
	}
	all.CAFile = o.caFile
	return all, nil
}

func (o *Own) given() []string {
	var given []string
	for _, f := range o.flags {
		if f.text != "" {
			given = append(given, "--"+f.store.Name)
		}
	}
	return given
}

// Named reports whether the flags name any servers.
func (o *Own) Named() bool { return len(o.given()) > 0 }

// addressFlag is a flag for server addresses, which may contain passwords. Set accepts any text, because the flag library would
// print a rejected text.
type addressFlag struct {
	store servers.Store
	text  string
}

var _ pflag.Value = (*addressFlag)(nil)

func (f *addressFlag) Set(text string) error { f.text = text; return nil }

func (f *addressFlag) Type() string {
	if f.store.Name == servers.Redis {
		return "URL[,URL...]"
	}
	return "URL"
}

// String returns the addresses without secrets. The result is shown in help texts and in the command that repeats a run.
func (f *addressFlag) String() string {
	if f.text == "" {
		return ""
	}
	targets, err := f.parse("", func(string) string { return "" })
	if err != nil {
		return "***"
	}
	return Shown(servers.Remote{Targets: targets})
}

func (f *addressFlag) parse(caFile string, getenv func(string) string) ([]servers.Target, error) {
	if f.store.Name == servers.Redis {
		return f.store.Targets(f.text, caFile, getenv)
	}
	t, err := f.store.Target(f.text, getenv)
	return []servers.Target{t}, err
}

// Shown returns addresses without their secrets.
func Shown(r servers.Remote) string {
	var texts []string
	for _, t := range r.Targets {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ",")
}
