package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"lockbench/histories"
	"lockbench/internal/drive/observe"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// leaseStep is the precision of observed leases. The emulator knows them exactly.
const leaseStep = time.Nanosecond

// Entries implements servers.Observer. It reads the emulator without a message, so it takes no virtual time. It returns an
// error if the server is stopped or paused.
func (n *node) Entries(_ context.Context, prefix string) (all []servers.Entry, err error) {
	n.catchUp()
	server := n.running()
	if server == nil || n.paused() {
		return nil, errors.New("the server does not answer")
	}
	for _, key := range server.Keys() {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		h := fnv.New64a()
		switch kind := server.Type(key); kind {
		case "string":
			text, _ := server.Get(key)
			_, _ = h.Write([]byte(text))
		case "list":
			list, _ := server.List(key)
			fmt.Fprintf(h, "%q", list)
		case "hash":
			names, _ := server.HKeys(key)
			for _, name := range names {
				fmt.Fprintf(h, "%q:%q,", name, server.HGet(key, name))
			}
		default:
			return nil, fmt.Errorf("observe a server: type %s is not supported", kind)
		}
		e := servers.Entry{Name: key, Hash: max(1, h.Sum64()), Left: server.TTL(key)}
		if e.Left == 0 {
			e.Left = servers.Unending
		}
		all = append(all, e)
	}
	return all, nil
}

// Counters implements servers.Observer. Reading sends no commands.
func (n *node) Counters() map[string]float64 { return nil }

// Close implements servers.Observer.
func (n *node) Close() error { return nil }

// observe reads the servers until ctx ends, at times at which no other event can occur.
func (t Trial) observe(ctx context.Context, w *world, rec *histories.Recorder) {
	keys := observe.Keys{Prefix: prefix, TTL: t.Params.TTL}
	for _, name := range t.Params.KeyNames() {
		keys.Names = append(keys.Names, workloads.SegmentsOf(w.processes[t.Params.Processes].lock, name)...)
	}
	var all []servers.Observer
	for _, n := range w.net.nodes {
		all = append(all, n)
	}
	observe.NewWatch(all, keys, rec).Run(ctx, reserved-2, keys.Interval()/quantum*quantum)
}
