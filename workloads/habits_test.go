package workloads

import (
	"testing"

	"lockbench/impls"
)

// TestOwnerNames checks that unusual owner names are unique. A client must always get the same name for the same life,
// which is its number of unknown outcomes.
func TestOwnerNames(t *testing.T) {
	p := Defaults()
	p.Clients = 20
	seen := map[string]bool{}
	for number := range int32(20) {
		c := &Client{Params: &p, number: number}
		c.habits[NamesOddly] = true
		for life := range int32(20) {
			name := c.ownerName(life)
			if seen[name] || name != c.ownerName(life) {
				t.Errorf("client %d, life %d: the name %q is not unique", number, life, name)
			}
			seen[name] = true
		}
	}
}

// TestLocalOwnerNames checks that the names of the habit NamesLocally are unique within a process, and occur in each process.
func TestLocalOwnerNames(t *testing.T) {
	p := Defaults()
	p.Clients, p.Processes = 6, 2
	seen := map[string]int{}
	for number := range int32(6) {
		for life := range int32(3) {
			c := &Client{Params: &p, number: number}
			c.habits[NamesLocally] = true
			seen[c.ownerName(life)]++
		}
	}
	if len(seen) != 9 || seen["t0.0"] != 2 || seen["t2.2"] != 2 {
		t.Errorf("names: %v", seen)
	}
}

// TestHabitsOf checks that HabitsOf omits each habit that even a correct lock may handle wrongly.
func TestHabitsOf(t *testing.T) {
	has := func(l impls.Impl, h Habit) bool {
		p := Params{Habits: []Habit{h}}
		return len(p.Follows(HabitsOf(l))) == 1
	}
	program := impls.Impl{Program: &impls.Program{}}
	for _, c := range []struct {
		lock impls.Impl
		h    Habit
		want bool
	}{
		{impls.Impl{}, TriesHeld, true}, {impls.Impl{Reentrant: true}, TriesHeld, false}, {program, TriesHeld, false},
		{impls.Impl{}, HoldsLong, false}, {impls.Impl{Renews: true}, HoldsLong, true}, {impls.Impl{Extends: true}, Renews, true},
		{impls.Impl{Renews: true}, ReleasesLate, false}, {program, RepeatsRelease, false}, {impls.Impl{}, Nests, false},
		{impls.Impl{Reentrant: true}, Nests, true}, {impls.Impl{}, LetsExpire, true}, {impls.Impl{Renews: true}, LetsExpire, false},
		{impls.Impl{Reentrant: true}, LetsExpire, false}, {impls.Impl{}, NestsDeeply, false}, {impls.Impl{Session: true}, VariesLease, false},
		{impls.Impl{Reentrant: true}, NamesLocally, false}, {impls.Impl{LocalOwners: true}, NamesLocally, true},
	} {
		if got := has(c.lock, c.h); got != c.want {
			t.Errorf("%+v, %s: %t", c.lock, c.h, got)
		}
	}
}
