package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/workers"
	"lockbench/internal/suggest"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
	"lockbench/internal/yamlfile"
)

const hintClaims = "docs/claims.schema.json has the shape of a file of claims, and examples/ci one"

// claims are what a library says of its lock; docs/claims.schema.json has their shape.
type claims struct {
	Lock   string
	Claims []worker.Expect
	Params map[string]string // handed to the worker
}

func (c *claims) keys() []yamlfile.Key {
	var schema string
	var version int
	return []yamlfile.Key{
		{Name: "$schema", Into: &schema, Form: yamlfile.Text},
		{Name: "lockbench_claims", Into: &version, Form: yamlfile.Whole, Min: 1, Top: 1, Required: true, Doc: "the version of the format, 1"},
		{Name: "lock", Into: &c.Lock, Form: yamlfile.Text, Required: true, Check: stated, Doc: "as its worker calls itself"},
		{Name: "claims", Into: &c.Claims, Form: yamlfile.Mapping, List: true, Required: true, Doc: "what is claimed",
			Of: func(into any) []yamlfile.Key { return claimKeys(into.(*worker.Expect)) }},
		{Name: "params", Into: &c.Params, Form: yamlfile.Pairs},
	}
}

func claimKeys(c *worker.Expect) []yamlfile.Key {
	verdicts := []string{histories.Holds.String(), histories.Breaks.String(), histories.MeasuredOnly.String()}
	return []yamlfile.Key{
		{Name: "property", Into: &c.Property, Form: yamlfile.Choice, Values: choice.Properties.Names(), Required: true, Doc: "what is claimed"},
		{Name: "fault", Into: &c.Fault, Form: yamlfile.Choice, Values: choice.Faults.Names()},
		{Name: "workload", Into: &c.Workload, Form: yamlfile.Choice, Values: choice.Workloads.Names()},
		{Name: "verdict", Into: &c.Verdict, Form: yamlfile.Choice, Values: verdicts, Required: true, Doc: "whether it " + strings.Join(verdicts, ", ")},
		{Name: "because", Into: &c.Because, Form: yamlfile.Text, Required: true, Check: stated, Doc: "a sentence for the reader of the report"},
	}
}

func stated(into any) error {
	if *into.(*string) == "" {
		return errors.New("there is none")
	}
	return nil
}

// readClaims reads a file of claims, and fills in what was left out. The error lists all mistakes.
func readClaims(file string) (claims, error) {
	var c claims
	text, err := os.ReadFile(file)
	if err != nil {
		return c, console.Usage(err, hintClaims)
	}
	f, err := yamlfile.ReadJSON(file, "file of claims", text, c.keys())
	if err != nil {
		return c, console.Usage(err, hintClaims)
	}
	seen := map[worker.Expect]bool{}
	for i := range c.Claims {
		one := &c.Claims[i]
		one.Fault = cmp.Or(one.Fault, faults.None().Name)
		one.Workload = cmp.Or(one.Workload, showing(one.Property, one.Fault))
		same := worker.Expect{Property: one.Property, Fault: one.Fault, Workload: one.Workload}
		if seen[same] {
			f.Wrong(fmt.Sprintf("claims[%d]", i), "%s in %s under %s was claimed before", same.Property, same.Workload, same.Fault)
		}
		seen[same] = true
	}
	if err := f.Err(); err != nil {
		return c, console.Usage(err, hintClaims)
	}
	return c, nil
}

// showing is the workload that shows a property: the tables have special ones for those that others do not
// touch.
func showing(property, fault string) string {
	switch {
	case property == "reentrancy":
		return "reentrant"
	case property == "owner-release" && fault == faults.None().Name:
		return "misuse"
	}
	return "counter"
}

const hintWorker = "docs/worker-protocol.md tells what a worker reads and writes; lockbench worker is one"

// describeWorker starts the user's program once, on servers of its own, to learn what it says of itself.
func (f *flags) describeWorker(ctx context.Context) (impls.Impl, error) {
	own := impls.Impl{Store: servers.Redis, Deployment: f.deployment, Worker: []string{"/bin/sh", "-c", "exec " + f.worker}}
	g, err := stores.Start(ctx, servers.Spec{How: f.servers.How, Store: servers.Redis, Deployment: f.deployment, Remote: f.servers.Remote})
	if err != nil {
		return own, console.Environment(err, "the worker needs servers to work on")
	}
	ready, err := describe(ctx, own.Worker, worker.Open{Nodes: g.Front(), CAFile: f.servers.Remote.CAFile, Prefix: servers.KeyPrefix("describe"), Params: f.lockParams})
	if err = errors.Join(err, g.Stop()); err != nil {
		return own, console.Environment(err, hintWorker)
	}
	if err := checkReady(ready); err != nil {
		return own, console.Environment(fmt.Errorf("the worker %s: %w", ready.Name, err), hintWorker)
	}
	can := func(capability string) bool { return slices.Contains(ready.Capabilities, capability) }
	own.Name, own.Doc = ready.Name, ready.Doc
	own.Reentrant, own.Renews, own.Fences = can(worker.CanReenter), can(worker.CanRenewSelf), can(worker.CanFence)
	own.BackOff = time.Duration(ready.BackOffMS) * time.Millisecond
	for _, e := range ready.Expect {
		claimed, err := e.Expectation()
		if err != nil {
			return own, err
		}
		own.Expect = append(own.Expect, claimed)
	}
	return own, nil
}

// checkReady holds the names that a worker uses to the tables: one that is misspelt would never be looked at.
func checkReady(r worker.Ready) error {
	if slices.Contains(choice.Locks.Names(), r.Name) {
		return errors.New("a lock of lockbench has that name already")
	}
	for _, e := range r.Expect {
		e.Fault, e.Workload = cmp.Or(e.Fault, faults.None().Name), cmp.Or(e.Workload, "counter")
		for _, n := range names(e) {
			if !slices.Contains(n.known, n.text) {
				return fmt.Errorf("its first line expects something of the %s %q, which is unknown%s", n.field, n.text, suggest.Meant(n.text, n.known))
			}
		}
	}
	return nil
}

func describe(ctx context.Context, command []string, open worker.Open) (ready worker.Ready, err error) {
	k, err := children.New()
	if err != nil {
		return ready, err
	}
	p, err := workers.Start(ctx, k, command, open, nil)
	if err != nil {
		return ready, errors.Join(err, k.Close())
	}
	ready = p.Ready
	if err := errors.Join(p.Close(), k.Close()); err != nil {
		return ready, fmt.Errorf("the worker %s: %w", ready.Name, err)
	}
	return ready, nil
}
