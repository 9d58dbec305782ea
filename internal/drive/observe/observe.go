// Package observe reads the keys of a lock directly from its servers while a trial runs. Start records each observation in
// the history as operations of the kind Seen, so that the judge can compare what the lock promises with what the store has.
package observe

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lockbench/histories"
	"lockbench/internal/world/servers"
)

const (
	shortest = 10 * time.Millisecond // shortest interval between two observations
	longest  = 25 * time.Millisecond // longest interval, so that a short trial without a fault has observations too
	share    = 10                    // ratio of the interval to the duration of an observation, of which the server works for a small part
	timeout  = 250 * time.Millisecond

	maxKeys    = 16 // maximum number of observed lock keys
	maxEntries = 32 // maximum number of distinguished entries per lock key; further entries count as one
)

// Keys states which keys to observe.
type Keys struct {
	Prefix string        // prefix of all entries of the trial
	Names  []string      // names of the lock keys, and of their segments
	TTL    time.Duration // requested lease; it determines the interval
}

// Observation is a running observation of a trial.
type Observation struct {
	servers []servers.Observer
	stop    context.CancelFunc
	ended   chan struct{}
}

// Start begins to observe the servers of a group. Call Stop to end it. Reads that fail are not recorded. Start returns nil
// if the servers cannot be observed; the methods of a nil Observation do nothing.
func Start(g *servers.Group, k Keys, rec *histories.Recorder) *Observation {
	all, err := g.Observe()
	if err != nil {
		return nil
	}
	k.Names = k.Names[:min(len(k.Names), maxKeys)]
	w := &watch{Keys: k, servers: all, recorder: rec, log: rec.Log(histories.Harness), keys: map[string]*key{}}
	ctx, stop := context.WithCancel(context.Background())
	o := &Observation{all, stop, make(chan struct{})}
	go func() {
		defer close(o.ended)
		w.run(ctx)
	}()
	return o
}

// Stop ends the observation and closes its connections. It returns after the last operation was recorded.
func (o *Observation) Stop() {
	if o == nil {
		return
	}
	o.stop()
	<-o.ended
	for _, s := range o.servers {
		_ = s.Close() // the connection was only used for reading
	}
}

// Counters returns what the observation added to the counters of the servers.
func (o *Observation) Counters() map[string]float64 {
	sum := map[string]float64{}
	if o == nil {
		return sum
	}
	for _, s := range o.servers {
		for name, n := range s.Counters() {
			sum[name] += n
		}
	}
	return sum
}

type watch struct {
	Keys
	servers  []servers.Observer
	recorder *histories.Recorder
	log      *histories.Log
	keys     map[string]*key
}

// key is the state of one lock key.
type key struct {
	numbers map[string]int64 // number of each entry, from 1
	last    []servers.Entry  // entries at the last recorded observation
	at      time.Duration    // time of the last recorded observation
	seen    bool             // whether an observation was recorded
}

func (w *watch) run(ctx context.Context) {
	every := min(max(w.TTL/16, shortest), longest)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		if errors.Is(w.observe(ctx), servers.ErrNotObserved) {
			return // after any other error, for example while a server is down, the next observation may succeed
		}
		timer.Reset(max(every, share*time.Since(start)))
	}
}

// observe reads all entries of the trial once, and records those of each lock key.
func (w *watch) observe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	read := make([][]servers.Entry, len(w.servers))
	call := w.recorder.Since()
	err := servers.Each(len(w.servers), func(i int) (err error) {
		read[i], err = w.servers[i].Entries(ctx, w.Prefix)
		return err
	})
	if err != nil {
		return err
	}
	byKey := map[string][]servers.Entry{}
	for _, e := range majority(read) {
		if name := w.keyOf(e.Name); name != "" {
			byKey[name] = append(byKey[name], e)
		}
	}
	for _, name := range w.Names {
		w.record(name, byKey[name], call)
	}
	return nil
}

// keyOf returns the lock key to which an entry belongs: the longest one whose name is a word of the entry's name after the
// trial's prefix. A library may put its own words before and after it. keyOf returns "" if there is no such key.
func (w *watch) keyOf(entry string) (longest string) {
	_, rest, ok := strings.Cut(entry, w.Prefix)
	for _, name := range w.Names {
		if ok && len(name) > len(longest) && hasWord(rest, name) {
			longest = name
		}
	}
	return longest
}

// hasWord reports whether a text contains a word that is not part of a longer word.
func hasWord(text, word string) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// record records an observation of a lock key. It skips an observation without a change soon after the previous one.
func (w *watch) record(name string, found []servers.Entry, call time.Duration) {
	k := w.keys[name]
	if k == nil {
		k = &key{numbers: map[string]int64{}}
		w.keys[name] = k
	}
	found = k.numbered(found)
	if k.seen && call-k.at < w.TTL/8 && same(k.last, found) {
		return
	}
	k.last, k.at, k.seen = found, call, true
	op := histories.Op{Kind: histories.Seen, Outcome: histories.OK, Key: name, Call: call}
	if len(found) == 0 {
		w.log.Note(op)
	}
	for _, e := range found {
		op.Depth, op.Fence, op.Value, op.Validity = uint16(len(found)), k.numbers[e.Name], int64(e.Hash), e.Left
		w.log.Note(op)
	}
}

// numbered assigns a number to each entry. Entries beyond the first few share a number, and count as one entry with the
// longest of their leases.
func (k *key) numbered(found []servers.Entry) (all []servers.Entry) {
	var rest *servers.Entry
	for _, e := range found {
		switch n, known := k.numbers[e.Name]; {
		case known && n < maxEntries:
			all = append(all, e)
		case len(k.numbers) < maxEntries-1:
			k.numbers[e.Name] = int64(len(k.numbers) + 1)
			all = append(all, e)
		case rest == nil:
			e.Name = ""
			k.numbers[""] = maxEntries
			rest = &e
		default:
			rest.Hash += e.Hash
			rest.Left = longer(rest.Left, e.Left)
		}
	}
	if rest != nil {
		all = append(all, *rest)
	}
	return all
}

func longer(a, b time.Duration) time.Duration {
	if a == servers.Unending || b == servers.Unending {
		return servers.Unending
	}
	return max(a, b)
}

// same reports whether two observations have the same entries with the same content.
func same(a, b []servers.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	hashes := map[string]uint64{}
	for _, e := range a {
		hashes[e.Name] = e.Hash
	}
	for _, e := range b {
		if hashes[e.Name] != e.Hash {
			return false
		}
	}
	return true
}
