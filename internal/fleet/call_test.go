package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestCall checks that a call reaches the named agent only, that errors are returned, and that a call to an agent that has ended
// fails at once.
func TestCall(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := open(t, Options{Listen: Listen{URL: address}})
	defer c.Close(true)
	b := newBlocked()
	var agents []*Agent
	for i := range 2 {
		a, err := Join(t.Context(), Address{URL: address}, Offer{Slots: 1, Clock: func(at time.Time) time.Duration { return time.Duration(i+1) * time.Hour },
			Calls: Handlers{"double": double, "index": func(context.Context, json.RawMessage) (any, error) { return i, nil }, "block": b.handle}})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
		defer a.Close()
	}
	for i, a := range agents {
		if got, err := Call[int](t.Context(), c, a.name, "index", nil, time.Minute); err != nil || got != i {
			t.Errorf("agent %d answers %d: %v", i, got, err)
		}
		x, err := c.Exchange(t.Context(), a.name)
		if err != nil || x.Read != time.Duration(i+1)*time.Hour || x.Received < x.Sent {
			t.Errorf("the clock of agent %d: %+v %v", i, x, err)
		}
	}
	if _, err := Call[int](t.Context(), c, agents[0].name, "double", "text", time.Minute); err == nil || !strings.Contains(err.Error(), agents[0].name) {
		t.Errorf("a handler that fails: %v", err)
	}
	if _, err := Call[int](t.Context(), c, agents[0].name, "unknown", 1, time.Minute); !errors.Is(err, ErrRefused) {
		t.Errorf("an unknown kind: %v", err)
	}
	go func() {
		<-b.began
		agents[0].Close()
	}()
	began := time.Now()
	for range 2 { // interrupted, and then gone
		if _, err := Call[int](t.Context(), c, agents[0].name, "block", 1, time.Minute); !errors.Is(err, ErrSilent) {
			t.Errorf("an agent that ends: %v", err)
		}
	}
	if took := time.Since(began); took > agentLease {
		t.Errorf("the end of an agent was noticed after %s", took)
	}
}

// FuzzCall checks that arbitrary bytes are a call or are ignored.
func FuzzCall(f *testing.F) {
	good, err := pack(call{"c", "double", json.RawMessage("1"), time.Second}, mostPayload)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		var c call
		if unpack(packed, &c) != nil || !c.valid() {
			return
		}
		if c.Limit <= 0 || c.Limit > time.Hour || c.Kind == "" {
			t.Errorf("%+v is valid", c)
		}
	})
}

// FuzzReadClock checks that a reading of a clock cannot overflow sums.
func FuzzReadClock(f *testing.F) {
	f.Add([]byte("123"))
	f.Add([]byte("-9223372036854775808"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if read, err := readClock(text); err == nil && (read-maxClock > 0 || read+maxClock < 0) {
			t.Errorf("%d", read)
		}
	})
}
