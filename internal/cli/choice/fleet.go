package choice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"lockbench/internal/cli/console"
	"lockbench/internal/fleet"
	"lockbench/internal/world/servers"
	"lockbench/reports/campaign"
	"lockbench/reports/format"
)

// Fleet holds the flags that let agents on other machines take part.
type Fleet struct {
	listen     fleet.Listen
	remote     fleet.Address
	Resume     string // folder of an interrupted campaign to continue; "": a new campaign
	AgentsOnly bool   // whether this process runs no trials itself
}

// ResumeUsage describes the flag --resume.
const ResumeUsage = "folder of an interrupted bench or search to continue"

const hintFleet = "docs/scale.md shows how agents join"

// Define defines the flags. The flag --resume is for commands that do not keep each result by themselves.
func (f *Fleet) Define(fl *pflag.FlagSet, resumes bool) {
	f.DefineQueue(fl)
	fl.BoolVar(&f.AgentsOnly, "agents-only", false, "leave all trials to agents")
	if resumes {
		fl.StringVar(&f.Resume, "resume", "", ResumeUsage)
	}
}

// DefineQueue defines the flags that let agents join.
func (f *Fleet) DefineQueue(fl *pflag.FlagSet) {
	fl.StringVar(&f.listen.URL, "listen", "", "let agents join at nats://127.0.0.1:4222, or at a tls:// address")
	fl.StringVar(&f.listen.Cert, "listen-cert", "", "PEM file of your own certificate for --listen (a new one)")
	fl.StringVar(&f.listen.Key, "listen-key", "", "PEM file with the key of --listen-cert")
	DefineNATS(fl, &f.remote, "nats", "use NATS servers of your own, with JetStream, as the queue")
}

// DefineNATS defines the flags for a connection to NATS.
func DefineNATS(fl *pflag.FlagSet, a *fleet.Address, name, usage string) {
	fl.StringVar(&a.URL, name, "", usage)
	fl.StringVar(&a.CA, "nats-ca", "", "PEM file of certificates for tls:// (the system's)")
	fl.StringVar(&a.Creds, "nats-creds", "", "file with credentials for NATS")
}

// Shared reports whether agents of other processes can take part.
func (f *Fleet) Shared() bool { return f.listen.URL != "" || f.remote.URL != "" }

// Refusals returns usage errors. The parameter out is the value of --out.
func (f *Fleet) Refusals(out string) []console.Refusal {
	return []console.Refusal{
		{If: f.listen.URL != "" && f.remote.URL != "", What: "--listen and --nats are two queues", Hint: "leave out one of them"},
		{If: f.AgentsOnly && !f.Shared(), What: "--agents-only: no agent can join", Hint: "add --listen nats://127.0.0.1:4222"},
		{If: f.listen.URL == "" && f.listen.Cert+f.listen.Key != "", What: "--listen-cert is for --listen"},
		{If: f.remote.URL == "" && f.remote.CA+f.remote.Creds != "", What: "--nats-ca and --nats-creds are for --nats"},
		{If: f.Resume != "" && out != "", What: "--resume continues in its own folder", Hint: "leave out --out"},
	}
}

// Fits returns an error if agents cannot use the servers. The servers of the user are used by one machine only.
func (f *Fleet) Fits(on Servers) error {
	if f.Shared() && on.How == servers.External {
		return console.Usage(errors.New("each agent starts separate servers, and your servers are named"), "leave out --listen or --nats, or the addresses of your servers")
	}
	return nil
}

// commandName is the name of the file with the flags of a campaign.
const commandName = "command.json"

// notKept lists the flags that do not belong to a campaign, but to one start of it.
var notKept = []string{"resume", "out", "json", "help", "listen", "listen-cert", "listen-key", "nats", "nats-ca", "nats-creds", "agents-only", "jobs"}

// Restore sets the flags that an interrupted campaign was started with, except those that the user has set.
func (f *Fleet) Restore(fl *pflag.FlagSet) error {
	if f.Resume == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(f.Resume, commandName))
	if err != nil {
		return console.Usage(fmt.Errorf("resume %s: no interrupted search is in this folder", f.Resume), "leave out --resume to begin a search")
	}
	var kept map[string]string
	if err := json.Unmarshal(text, &kept); err != nil {
		return console.Usage(fmt.Errorf("read %s: %w", filepath.Join(f.Resume, commandName), err), "leave out --resume to begin a search")
	}
	for name, value := range kept {
		if flag := fl.Lookup(name); flag != nil && !flag.Changed && !slices.Contains(notKept, name) {
			if err := fl.Set(name, value); err != nil {
				return console.Usage(fmt.Errorf("resume %s: --%s: %w", f.Resume, name, err), "leave out --resume to begin a search")
			}
		}
	}
	return nil
}

// Folder creates the results folder, with the flags of the campaign, or returns the folder of the resumed campaign.
func (f *Fleet) Folder(fl *pflag.FlagSet, out, name string) (string, error) {
	if f.Resume != "" {
		return f.Resume, nil
	}
	dir, err := console.Folder(out, name)
	if err != nil {
		return "", err
	}
	kept := map[string]string{}
	fl.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(notKept, flag.Name) {
			kept[flag.Name] = strings.Trim(flag.Value.String(), "[]")
		}
	})
	text, err := json.Marshal(kept)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, commandName), append(text, '\n'), 0o600)
	}
	if err != nil {
		return "", console.Environment(err, "choose another folder with --out")
	}
	return dir, nil
}

// Finish removes what only an interrupted campaign needs, if the campaign is complete.
func (f *Fleet) Finish(dir string, complete bool) error {
	if !complete {
		return nil
	}
	return os.Remove(filepath.Join(dir, commandName))
}

// Open opens the queue of a campaign, whose results are stored in dir. Then it prints how agents join.
func (f *Fleet) Open(ctx context.Context, dir, identity string, slots int, handlers fleet.Handlers, note func(string)) (*fleet.Coordinator, error) {
	o := fleet.Options{Dir: dir, Identity: identity, Resume: f.Resume != "", Slots: slots, Handlers: handlers}
	if f.AgentsOnly {
		o.Slots = 0
	}
	if f.remote.URL != "" {
		o.Remote = &f.remote
		if err := f.remote.Check(); err != nil {
			return nil, console.Usage(err, "use tls://HOST:4222; "+hintFleet)
		}
	}
	if f.listen.URL != "" {
		if err := cmp.Or(f.listen.Check(), f.listen.Secure(dir)); err != nil {
			return nil, console.Usage(err, "use nats://127.0.0.1:4222, or tls://HOST:4222; "+hintFleet)
		}
	}
	o.Listen = f.listen
	c, err := fleet.Open(ctx, o)
	switch {
	case errors.Is(err, fleet.ErrOtherCampaign):
		return nil, console.Usage(fmt.Errorf("resume %s: %w", dir, err), "use the program with which the search began")
	case err != nil:
		return nil, console.Environment(err, hintFleet)
	case f.listen.URL != "":
		note("agents join with: lockbench agent --join " + c.JoinedBy())
	}
	return c, nil
}

// Agents returns the agents of a queue, those of another version of lockbench last.
func Agents(c *fleet.Coordinator) (all []campaign.Agent) {
	add := func(present []fleet.Presence, foreign bool) {
		for _, a := range present {
			all = append(all, campaign.Agent{Name: a.Name, Slots: a.Slots, Running: len(a.Running), Done: a.Done, Foreign: foreign})
		}
	}
	add(c.Agents(), false)
	add(c.Foreign(), true)
	return all
}

// Members describes the agents in a progress line. It returns "" if no agent can join.
func Members(c *fleet.Coordinator) string {
	if !c.Distributed() {
		return ""
	}
	all, slots := c.Agents(), 0
	for _, a := range all {
		slots += a.Slots
	}
	text := fmt.Sprintf("%s with %s", format.Plural(len(all), "agent"), format.Plural(slots, "slot"))
	if other := len(c.Foreign()); other > 0 {
		text += fmt.Sprintf(", and %d of another version of lockbench, which get no trials", other)
	}
	return text
}
