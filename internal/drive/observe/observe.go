// Package observe reads the keys of a lock directly from its servers while a trial runs. Start records each observation
// in the history as operations of the kind Seen. The judge can then compare the lock's promises with the content of the
// store. In virtual time, Watch.Run reads the emulated servers instead.
package observe

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lockbench/histories"
	"lockbench/impls"
	"lockbench/internal/world/servers"
)

const (
	shortest = 10 * time.Millisecond // shortest interval between two observations
	longest  = 25 * time.Millisecond // longest interval; short enough for observations in a short trial without a fault
	share    = 10                    // minimum ratio of the interval to the duration of an observation; it limits the load on the server
	timeout  = 250 * time.Millisecond

	maxKeys    = 16 // maximum number of observed lock keys
	maxEntries = 32 // maximum number of entries per lock key that are told apart; further entries count as one
)

// Keys states which keys to observe.
type Keys struct {
	Prefix string        // prefix of all entries of the trial
	Names  []string      // names of the lock keys, and of their segments
	TTL    time.Duration // requested lease; the interval between observations depends on it
	Prober impls.Prober  // lock to ask if the servers cannot be observed; nil: none
}

// Observation is a running observation of a trial.
type Observation struct {
	servers []servers.Observer
	stop    context.CancelFunc
	ended   chan struct{}
}

// Start begins to observe the servers of a group until Stop is called. Failed reads are not recorded. Start returns nil
// if neither the servers nor the lock can be observed. The methods of a nil Observation do nothing.
func Start(g *servers.Group, k Keys, rec *histories.Recorder) *Observation {
	all, err := g.Observe()
	if errors.Is(err, servers.ErrNotObserved) && k.Prober != nil {
		all, err = []servers.Observer{probes{k.Prober, k}}, nil
	}
	if err != nil {
		return nil
	}
	w := NewWatch(all, k, rec)
	ctx, stop := context.WithCancel(context.Background())
	o := &Observation{all, stop, make(chan struct{})}
	go func() {
		defer close(o.ended)
		w.Run(ctx, 0, k.Interval())
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

// Counters returns the amounts that the observation itself has added to the counters of the servers.
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

// Watch records observations of the keys of a trial.
type Watch struct {
	Keys
	servers  []servers.Observer
	recorder *histories.Recorder
	log      *histories.Log
	keys     map[string]*key
}

// NewWatch returns a Watch that reads the servers and records what it finds. If there are too many names, it observes only
// the first ones.
func NewWatch(servers []servers.Observer, k Keys, rec *histories.Recorder) *Watch {
	k.Names = k.Names[:min(len(k.Names), maxKeys)]
	return &Watch{Keys: k, servers: servers, recorder: rec, log: rec.Log(histories.Harness), keys: map[string]*key{}}
}

// key is the state of one lock key.
type key struct {
	numbers map[string]int64 // number of each entry, counted from 1
	last    []servers.Entry  // entries at the last recorded observation
	at      time.Duration    // time of the last recorded observation
	seen    bool             // whether an observation was recorded
}

// Interval returns the interval between two observations.
func (k Keys) Interval() time.Duration { return min(max(k.TTL/16, shortest), longest) }

// Run observes the servers until ctx ends. The first observation is due after the delay first, and the others at the given
// interval. Slow reads lengthen the interval.
func (w *Watch) Run(ctx context.Context, first, interval time.Duration) {
	timer := time.NewTimer(first)
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
		timer.Reset(max(interval, share*time.Since(start)))
	}
}

// observe reads all entries of the trial once. It then records the entries of each lock key.
func (w *Watch) observe(ctx context.Context) error {
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

// keyOf returns the lock key that an entry belongs to, or "". An entry belongs to a key if its name, after the trial's
// prefix, contains the key as a word. A library may put other words before and after the key. If several keys match, the
// longest is returned.
func (w *Watch) keyOf(entry string) (longest string) {
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

// record records an observation of a lock key. It skips an unchanged observation that soon follows the previous one.
func (w *Watch) record(name string, found []servers.Entry, call time.Duration) {
	k := w.keys[name]
	if k == nil {
		k = &key{numbers: map[string]int64{}}
		w.keys[name] = k
	}
	found = k.numbered(found)
	if k.seen && call-k.at < w.TTL/8 && sameEntries(k.last, found) {
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

// numbered assigns a number to each entry. Only the first few entries get separate numbers. The others share one number
// and count as a single entry with the longest of their leases.
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

// sameEntries reports whether two observations have the same entries with the same content.
func sameEntries(a, b []servers.Entry) bool {
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
