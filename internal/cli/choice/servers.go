package choice

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/cli/console"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// HintOwn says how servers of a user's own are named.
const HintOwn = "an address of Redis is redis://host:port/database, or rediss:// for TLS; give passwords in LOCKBENCH_REDIS_PASSWORD" +
	", and in LOCKBENCH_MYSQL_PASSWORD and its like for the others"

// Servers holds the flags that say where locks run, and their result.
type Servers struct {
	Own
	How    string // servers.Ways
	Remote servers.Remote
}

// Five is how many servers a lock of the deployment five needs.
const Five = 5

// Define defines --servers and the flags of Own. what says what runs there, howMany how many servers --redis takes.
func (s *Servers) Define(fl *pflag.FlagSet, what, howMany string) {
	fl.StringVar(&s.How, "servers", servers.Auto, what+": "+strings.Join(servers.Ways(), ", "))
	s.Own.Define(fl, howMany)
}

// Settle decides where the locks run: on the named servers, if any are named.
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
		return console.Usage(fmt.Errorf("--redis names %d servers: want 1, or %d for the locks that need %d", given, Five, Five), HintOwn)
	}
	return nil
}

// Required returns an error if LOCKBENCH_REQUIRE names a missing store: a test that cannot run where it
// must run must not pass.
func Required(missing []string) error {
	asked := strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ",")
	for _, store := range missing {
		if slices.Contains(asked, store) || slices.Contains(asked, stores.Product(store)) {
			return console.Environment(fmt.Errorf("%s is missing, and LOCKBENCH_REQUIRE asks for it", store), stores.Provide(store))
		}
	}
	return nil
}

// RunID returns a new name of a run. Servers may be shared, so no other run has it.
func RunID() string {
	random := make([]byte, 8)
	rand.Read(random) // it never fails: the runtime ends the process instead
	return fmt.Sprintf("%s-%d-%x", time.Now().UTC().Format("20060102150405"), os.Getpid(), random)
}

// Own holds the flags that name servers of the user's own.
type Own struct {
	caFile string
	flags  []*addressFlag // Redis first, then one for each other store
}

// Define defines the flags.
func (o *Own) Define(fl *pflag.FlagSet, howMany string) {
	of, _ := stores.Find(servers.Redis)
	redis := &addressFlag{store: of}
	o.flags = []*addressFlag{redis}
	fl.Var(redis, of.Name, "your own Redis servers, with commas: redis://host:port, or rediss:// for TLS;\n"+
		howMany+". Give the password in "+of.PasswordVariable()+"\n(and "+of.UserVariable()+
		"), not here: other users of this machine can read command lines")
	fl.StringVar(&o.caFile, "redis-ca", "", "file of the certificates, in PEM, to trust with rediss:// (those of the system)")
	for _, of := range stores.External() {
		f := &addressFlag{store: of}
		o.flags = append(o.flags, f)
		text := "the same for " + of.Name + ": " + of.External.Example
		if variable := of.PasswordVariable(); variable != "" {
			text += ";\nits password is given in " + variable
		}
		fl.Var(f, of.Name, text)
	}
}

// Remote returns the servers that the flags name.
func (o *Own) Remote() (servers.Remote, error) {
	var all servers.Remote
	if o.caFile != "" && !slices.Contains(o.given(), "--"+servers.Redis) {
		return all, console.Usage(errors.New("--redis-ca without --redis"), HintOwn)
	}
	for _, f := range o.flags {
		if f.text == "" {
			continue
		}
		targets, err := f.parse(o.caFile, os.Getenv)
		if err != nil {
			return all, console.Usage(fmt.Errorf("--%s: %w", f.store.Name, err), HintOwn)
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

// Named reports whether any was given.
func (o *Own) Named() bool { return len(o.given()) > 0 }

// addressFlag is a flag that never prints its secrets. It takes whatever it is given, because the flag library quotes what a
// flag refuses.
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

// String is for help texts and the line that reproduces a run.
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
