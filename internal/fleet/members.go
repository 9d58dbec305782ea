package fleet

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// member is an agent as the coordinator knows it.
type member struct {
	Presence
	seen time.Time
}

// meet handles the heartbeat of an agent.
func (c *Coordinator) meet(m *nats.Msg) {
	var p Presence
	if len(m.Data) > 1<<20 || json.Unmarshal(m.Data, &p) != nil || p.Name == "" || p.Slots < 0 || p.Slots > 1<<10 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agents[p.Name] == nil {
		c.beat() // the agent begins no task of an unknown campaign
	}
	c.agents[p.Name] = &member{p, time.Now()}
	for _, name := range p.Running {
		key, ours := strings.CutPrefix(name, running(c.id, ""))
		if w := c.waiting[key]; ours && w != nil {
			w.seen = time.Now()
		}
	}
	c.wake()
}

// isRunning reports whether an agent is running a task, which it was given before the campaign was resumed.
func (c *Coordinator) isRunning(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.agents {
		if m.Build == c.build && slices.Contains(m.Running, running(c.id, key)) {
			return true
		}
	}
	return false
}

// bury forgets agents that are silent.
func (c *Coordinator) bury() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.agents, func(_ string, m *member) bool { return time.Since(m.seen) > agentLease })
}

func (c *Coordinator) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Size returns the number of tasks that run at the same time.
func (c *Coordinator) Size() int {
	all := 0
	for _, p := range c.Agents() {
		all += p.Slots
	}
	return max(all, 1)
}

// capacity returns the number of tasks that may be in the queue or running. An agent on another machine has one task more
// for each slot, which it takes without waiting for the coordinator.
func (c *Coordinator) capacity() int {
	var all int
	for _, m := range c.agents {
		if m.Build != c.build {
			continue
		}
		if all += m.Slots; c.agent == nil || m.Name != c.agent.name {
			all += m.Slots
		}
	}
	if c.agent != nil && c.agents[c.agent.name] == nil {
		all += c.agent.offer.Slots
	}
	return all
}

// Agents returns the agents that take part, ordered by name.
func (c *Coordinator) Agents() []Presence {
	return c.present(func(p Presence) bool { return p.Build == c.build })
}

// Foreign returns the agents that run another build. They get no task.
func (c *Coordinator) Foreign() []Presence {
	return c.present(func(p Presence) bool { return p.Build != c.build })
}

func (c *Coordinator) present(keep func(Presence) bool) []Presence {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Presence
	for _, name := range slices.Sorted(maps.Keys(c.agents)) {
		if p := c.agents[name].Presence; keep(p) {
			all = append(all, p)
		}
	}
	return all
}
