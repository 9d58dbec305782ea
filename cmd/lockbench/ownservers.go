package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

const hintOwn = "an address of Redis is redis://host:port/database, or rediss:// for TLS; give passwords in LOCKBENCH_REDIS_PASSWORD" +
	", and in LOCKBENCH_MYSQL_PASSWORD and its like for the others"

// ownServers are the servers of the user's own.
type ownServers struct {
	redis   secretList
	caFile  string
	targets []*secretTarget // of the stores other than Redis, one each
}

func (f *ownServers) define(fl *pflag.FlagSet, howMany string) {
	fl.Var(&f.redis, "redis", "Redis servers of your own, with commas: redis://host:port, or rediss:// for TLS;\n"+
		howMany+". Give the password in "+redisStore().PasswordVariable()+"\n(and "+redisStore().UserVariable()+
		"), not here: other users of this machine can read command lines")
	fl.StringVar(&f.caFile, "redis-ca", "", "file of the certificates, in PEM, to trust with rediss:// (those of the system)")
	for _, of := range stores.External() {
		t := &secretTarget{store: of.Name}
		f.targets = append(f.targets, t)
		text := "the same for " + of.Name + ": " + of.External.Like
		if variable := of.PasswordVariable(); variable != "" {
			text += ";\nits password is given in " + variable
		}
		fl.Var(t, of.Name, text)
	}
}

func redisStore() *servers.Store {
	of, _ := stores.Find(servers.Redis)
	return &of
}

// remote is what the flags come to.
func (f *ownServers) remote() (servers.Remote, error) {
	var r servers.Remote
	if f.redis == "" && f.caFile != "" {
		return r, usage(errors.New("--redis-ca without --redis"), hintOwn)
	}
	if f.redis != "" {
		var err error
		r.CAFile = f.caFile
		if r.Targets, err = redisStore().Targets(string(f.redis), f.caFile, os.Getenv); err != nil {
			return r, usage(fmt.Errorf("--redis: %w", err), hintOwn)
		}
	}
	for _, flag := range f.targets {
		if flag.text == "" {
			continue
		}
		t, err := flag.target(os.Getenv)
		if err != nil {
			return r, usage(fmt.Errorf("--%s: %w", flag.store, err), hintOwn)
		}
		r.Targets = append(r.Targets, t)
	}
	return r, nil
}

// flags are those that were given.
func (f *ownServers) flags() string {
	var given []string
	if f.redis != "" {
		given = append(given, "--redis")
	}
	for _, t := range f.targets {
		if t.text != "" {
			given = append(given, "--"+t.store)
		}
	}
	return strings.Join(given, " and ")
}

// named tells whether any was given.
func (f *ownServers) named() bool { return f.flags() != "" }

func targetFlags() []string {
	var flags []string
	for _, of := range stores.External() {
		flags = append(flags, "--"+of.Name)
	}
	return flags
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
	all, err := redisStore().Targets(string(*s), "", func(string) string { return "" })
	if err != nil {
		return "***"
	}
	return shown(servers.Remote{Targets: all})
}

// secretTarget is the same for the servers of another store.
type secretTarget struct{ store, text string }

var _ pflag.Value = (*secretTarget)(nil)

func (s *secretTarget) Set(text string) error { s.text = text; return nil }
func (s *secretTarget) Type() string          { return "URL" }

func (s *secretTarget) String() string {
	if s.text == "" {
		return ""
	}
	t, err := s.target(func(string) string { return "" })
	if err != nil {
		return "***"
	}
	return t.String()
}

func (s *secretTarget) target(getenv func(string) string) (servers.Target, error) {
	of, err := stores.Find(s.store)
	if err != nil {
		return servers.Target{}, err
	}
	return of.Target(s.text, getenv)
}

// shown shows addresses without their secrets.
func shown(r servers.Remote) string {
	var texts []string
	for _, t := range r.Targets {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ",")
}
