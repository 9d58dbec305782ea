// Package faults describes the faults of a trial: one file each, and the table All. A fault is a plan, and a plan is data:
// what is to happen, and when. drive/inject carries it out, on real processes and servers (drive/trial) or in virtual time
// (simulate/sim).
package faults

import (
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/workloads"
)

// Fault is one thing that can go wrong.
type Fault struct {
	Name string
	Doc  string // one sentence
	Kind Kind

	// On returns the deployment to use instead of the usual one; nil: the usual one.
	On func(usual string) string
	// Only returns why a lock cannot show the fault, "" if it can; nil: every lock can.
	Only func(impls.Impl) string
	// Shape changes the parameters with which it is shown; nil: the usual ones.
	Shape func(*workloads.Params, Scene)
	Plan  func(Scene) Plan // nil: no fault
}

// NotFor returns why a lock cannot show the fault, "" if it can.
func (f Fault) NotFor(l impls.Impl) string {
	switch {
	case f.Plan == nil:
		return ""
	case l.Store != "redis" && ofRedis(f.Plan(Scene{TTL: UsualTTL, Deployment: l.Deployment, Processes: 3})):
		return "it is known how to do that to Redis only"
	case f.Only != nil:
		return f.Only(l)
	}
	return ""
}

// ofRedis reports whether a plan has in it what only Redis can be done.
func ofRedis(p Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return slices.Contains([]Verb{Mute, Unlink, Failover, Jump, Drift, Evict}, s.Do.Verb)
	})
}

// Kind says what a fault befalls.
type Kind string

const (
	Nothing Kind = "nothing"
	Clients Kind = "clients"
	Network Kind = "network" // between a process and a server
	Servers Kind = "servers" // of our own only
)

// Scene holds what a plan depends on.
type Scene struct {
	TTL        time.Duration
	Deployment string
	Processes  int
	Seed       uint64 // of the trial, for a plan that draws something
}

// Servers returns how many servers a lock asks in the deployment.
func (s Scene) Servers() int {
	switch s.Deployment {
	case "five", "five-delayed":
		return 5
	case "three":
		return 3
	}
	return 1
}

// Plan lists the steps of a fault, and which clients wait for them.
type Plan struct {
	Gates []Gate `json:"gates,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Quick is how many holds of the victim, the first ones, are as short as can be: they lead up to the one
	// that counts.
	Quick uint64 `json:"quick,omitempty"`
	// Turns limits how often clients do their workload; all others go on until the time is up.
	Turns []Turns `json:"turns,omitempty"`
}

// Turns limits how often a client does its workload. That it then rests is no fault.
type Turns struct {
	Client     int32  `json:"client"`
	Iterations uint64 `json:"iterations"`
}

// Gate delays a client's first acquire until a moment has come, but not for ever: after
// the patience it asks anyway.
type Gate struct {
	Client   int32            `json:"client"`
	Until    workloads.Moment `json:"until,omitzero"`
	Patience time.Duration    `json:"timeout_ns"`
}

// Step is one action, carried out once.
type Step struct {
	Name string  `json:"name,omitempty"` // what the records call it; "": as they call the plan
	When Trigger `json:"when,omitzero"`
	Do   Action  `json:"do"`
	// It is healed so long after, or at a moment, whichever is set; neither: never.
	For   time.Duration    `json:"for_ns,omitempty"`
	Until workloads.Moment `json:"until,omitzero"`
}

// Trigger says when a step is due: before any client asks if it is zero; at a moment of a client; or as a
// command of a process passes the network, counted from a moment of its client.
type Trigger struct {
	At    workloads.Moment `json:"at,omitzero"`
	Later time.Duration    `json:"later_ns,omitempty"` // so long after the moment; the client goes on meanwhile
	On    *Passing         `json:"on,omitempty"`
}

// Passing is the nth of some commands on their way between a process and its servers, counted from the
// trigger's moment, or from the start.
type Passing struct {
	Process  int      `json:"process"`
	Commands []string `json:"commands,omitempty"` // names; none: any
	Nth      int      `json:"nth"`
	Reply    bool     `json:"reply,omitempty"` // as its reply comes back, rather than on its way to the server
}

// Verb says what is done.
type Verb string

const (
	Stall   Verb = "stall"   // a client works for By
	Abandon Verb = "abandon" // a client goes away without releasing
	GiveUp  Verb = "cancel"  // a client waits for Wait only, and the reply that triggered it comes By later
	Pause   Verb = "pause"   // a process is paused
	Kill    Verb = "kill"    // a process is no more

	Delay Verb = "delay" // the command that triggered it comes By later
	Lose  Verb = "lose"  // the reply that triggered it, and all that would follow on its connection
	Cut   Verb = "cut"   // what a process and Nodes say to each other is swallowed
	Slow  Verb = "slow"  // everything takes By longer, each way
	Mute  Verb = "mute"  // published messages are swallowed

	Restart  Verb = "restart"  // Nodes are killed, and come back By later with what they had on disk
	Down     Verb = "down"     // Nodes are killed
	Freeze   Verb = "freeze"   // Nodes are paused
	Unlink   Verb = "unlink"   // Nodes, replicas, learn nothing more of what their primary does
	Failover Verb = "failover" // the primary is killed, and a replica takes over: Nodes[0], or the one that the Sentinels choose
	Jump     Verb = "jump"     // the clock of Nodes, by By, which may be less than nothing
	Drift    Verb = "drift"    // the clock of Nodes gains By in each second, which may be less than nothing
	Unseat   Verb = "unseat"   // the server, Nodes[0], ends the session that holds the lock
	Depose   Verb = "depose"   // the leader of an ensemble is killed, and another leads
	Evict    Verb = "evict"    // Nodes run short of memory, until the lock is gone
)

// Action says what a step does. Which fields count depends on the verb.
type Action struct {
	Verb    Verb          `json:"verb"`
	Client  int32         `json:"client,omitempty"`
	Process int           `json:"process,omitempty"` // -1: every one
	Nodes   []int         `json:"nodes,omitempty"`
	By      time.Duration `json:"by_ns,omitempty"`
	Wait    time.Duration `json:"wait_ns,omitempty"`
	Silent  bool          `json:"silent,omitempty"`  // of Lose: the connection stays open and says nothing, rather than being closed
	OneWay  bool          `json:"one_way,omitempty"` // of Cut: what the process says is heard, what it is answered is not
	Keeps   bool          `json:"keeps,omitempty"`   // of Restart: the servers come back with all that they knew
}

// All returns every fault.
func All() []Fault {
	return []Fault{None(),
		holderStall, processPause, pauseBeforeAnswer, pauseInRelease, holderKill, holderAbandon, killBetween, cancelledAcquire,
		slowNetwork, lostReply, lostReplySilent, partition, partitionOneWay, delayedRelease, lostWakeup,
		serverRestart, serverPause, failover, failoverSynced, clockForward, clockBack,
		nodeRestart, minorityDown, eviction, sessionKill, halfOpen, leaderLoss}
}

// None returns the fault that injects nothing.
func None() Fault {
	return Fault{Name: "none", Kind: Nothing, Doc: "nothing is injected"}
}

// The victim of a fault is the first client, alone in the first process, as a rule in its first hold.
const (
	victim        int32 = 0
	victimProcess int   = 0
)

// granted returns the moment at which a client's hold of an iteration begins.
func granted(client int32, iteration uint64) workloads.Moment {
	return workloads.Moment{Client: client, Iteration: iteration, Point: workloads.Granted}
}

// inTurn has the second client ask once the victim holds, and the third once the second does: so that it is
// the second that waits for what becomes of the victim's hold, and the third for what becomes of its.
func inTurn(s Scene, iteration uint64) []Gate {
	return []Gate{
		{Client: 1, Until: granted(victim, iteration), Patience: 2 * s.TTL},
		{Client: 2, Until: granted(1, 0), Patience: 3 * s.TTL},
	}
}

// atWork returns the moment at which a client has read what is guarded and is yet to write it.
func atWork(client int32) workloads.Moment {
	return workloads.Moment{Client: client, Point: workloads.Working}
}

// once returns a plan of steps around the victim's first hold.
func once(s Scene, steps ...Step) Plan { return Plan{Gates: inTurn(s, 0), Steps: steps} }

// warmUp is how many short holds the victim has before the one that counts, in a plan of warmedUp.
const warmUp = 3

func warmedUp(s Scene, steps ...Step) Plan {
	return Plan{Gates: inTurn(s, warmUp), Quick: warmUp, Steps: steps}
}

// upon returns a trigger: the victim has just been granted the lock for the first time.
func upon() Trigger { return Trigger{At: granted(victim, 0)} }

// uponAnswer returns a trigger: the victim's first acquire is being answered.
func uponAnswer() Trigger {
	return Trigger{At: workloads.Moment{Client: victim, Point: workloads.Asking},
		On: &Passing{Process: victimProcess, Commands: []string{"SET", "SETNX", "EVAL", "EVALSHA"}, Nth: 1, Reply: true}}
}

// unless returns the result of a Fault.Only.
func unless(can bool, why string) string {
	if can {
		return ""
	}
	return why
}

// beyond returns a time longer than a lease lasts, and shorter than the lease and the work of the next holder together.
func beyond(s Scene) time.Duration { return s.TTL * 3 / 2 }

// Params returns the parameters in which a fault is shown, from those of the run: three clients in three processes, on one
// key, each working for most of a lease, so that a client that is let in too early meets another. A TTL of 0 means the
// usual one.
func (f Fault) Params(p workloads.Params, ttl time.Duration, deployment string) workloads.Params {
	p.Clients, p.Processes = 3, 3
	p.TTL = ttl
	if ttl == 0 {
		p.TTL = UsualTTL
	}
	p.Hold, p.Think, p.Wait = p.TTL*7/10, time.Millisecond, 0
	p.Duration = p.TTL * 3
	p.Keys, p.Spread = 1, workloads.One
	if f.Shape != nil {
		f.Shape(&p, Scene{TTL: p.TTL, Deployment: deployment})
	}
	return p
}

// UsualTTL is the lease if none is asked for: short, so that a trial is, and long against what a busy machine takes
// for a command.
const UsualTTL = 800 * time.Millisecond

// OnItsWay reports whether what is done is done to a command that passes the network, or to its reply.
func OnItsWay(v Verb) bool { return v == GiveUp || v == Delay || v == Lose }

// Kind returns the gravest kind of the plan's steps: what befalls servers, then the network, then clients.
func (p Plan) Kind() Kind {
	kind := Clients
	for _, s := range p.Steps {
		switch s.Do.Verb {
		case Stall, Abandon, GiveUp, Pause, Kill:
		case Delay, Lose, Cut, Slow, Mute:
			kind = Network
		default:
			return Servers
		}
	}
	return kind
}

// Rest has a client do its workload so often at most.
func (p *Plan) Rest(client int32, iterations uint64) {
	for i := range p.Turns {
		if p.Turns[i].Client == client {
			p.Turns[i].Iterations = iterations
			return
		}
	}
	p.Turns = append(p.Turns, Turns{client, iterations})
}
