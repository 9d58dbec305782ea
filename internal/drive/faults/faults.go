// Package faults describes the faults that can be injected into a trial, one fault per file. All lists them. Fault.Plan takes
// a Scene and returns a Plan, which states the actions and when they happen. Package inject carries the plan out, on real
// processes and servers (drive/trial) or in virtual time (simulate/sim).
package faults

import (
	"slices"
	"time"

	"lockbench/impls"
	"lockbench/workloads"
)

// Fault describes a fault that can be injected into a trial.
type Fault struct {
	Name string
	Doc  string // one sentence about the fault
	Kind Kind

	// On returns the deployment for trials with this fault. Its argument is the usual deployment of the lock. If On is
	// nil, trials use the usual deployment.
	On func(usual string) string
	// Only returns the reason why the fault does not apply to a lock, or "" if it applies. If Only is nil, the fault applies to
	// every lock.
	Only    func(impls.Impl) string
	Workers bool // whether the fault applies only to the workers of other programs
	// Shape changes the parameters of the trial. It may be nil.
	Shape func(*workloads.Params, Scene)
	Plan  func(Scene) Plan // returns the steps of the fault; nil if the fault injects nothing
}

// NotFor returns the reason why the fault does not apply to a lock, or "".
func (f Fault) NotFor(l impls.Impl) string {
	if f.Plan == nil {
		return ""
	}
	usual := Scene{TTL: UsualTTL, Deployment: l.Deployment, Processes: 3}
	plan := f.Plan(usual)
	switch {
	case l.Store != "redis" && plan.hasVerb(RedisOnly):
		return "supported for Redis only"
	case usual.Servers() > 1 && plan.hasVerb(needsReplica):
		return "its servers have no replicas"
	case f.Only != nil:
		return f.Only(l)
	}
	return ""
}

// hasVerb reports whether the plan has a step for whose verb the function is returns true.
func (p Plan) hasVerb(is func(Verb) bool) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return is(s.Do.Verb) })
}

// RedisOnly reports whether an action is supported only for Redis.
func RedisOnly(v Verb) bool {
	return needsReplica(v) || slices.Contains([]Verb{Mute, Jump, Drift, Evict, Empty, ForgetScripts, ReadOnly, Full}, v)
}

func needsReplica(v Verb) bool { return v == Unlink || v == Failover }

// Kind is the part of the system that a fault affects.
type Kind string

const (
	Nothing Kind = "nothing" // kind of the fault None, which injects nothing
	Clients Kind = "clients" // faults of clients and their processes
	Network Kind = "network" // faults of the network between processes and servers
	Servers Kind = "servers" // faults of servers that lockbench started
)

// Scene describes the trial that a fault plan is made for.
type Scene struct {
	TTL        time.Duration
	Deployment string
	Processes  int
	Seed       uint64 // seed of the trial, for plans that use random numbers
}

// Servers returns the number of servers that a lock uses in the deployment.
func (s Scene) Servers() int {
	switch s.Deployment {
	case "five", "five-delayed":
		return 5
	case "three":
		return 3
	}
	return 1
}

// Plan lists the steps of a fault. It also lists gates. A gate delays a client's first acquire until another client
// reaches a certain point.
type Plan struct {
	Gates []Gate `json:"gates,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Quick is the number of short holds of the victim before the hold that the fault affects.
	Quick uint64 `json:"quick,omitempty"`
	// Turns limits the iterations of some clients. Other clients continue until the end of the trial.
	Turns []Turns `json:"turns,omitempty"`
}

// Turns is the maximum number of iterations of one client.
type Turns struct {
	Client     int32  `json:"client"`
	Iterations uint64 `json:"iterations"`
}

// Gate delays a client's first acquire. The delay ends when another client reaches the point Until of its run, or after
// Timeout.
type Gate struct {
	Client  int32            `json:"client"`
	Until   workloads.Moment `json:"until,omitzero"`
	Timeout time.Duration    `json:"timeout_ns"`
}

// Step is one action of a plan. It is carried out at most once.
type Step struct {
	Name string  `json:"name,omitempty"` // name of the step in the history; "": the name of the plan
	When Trigger `json:"when,omitzero"`
	Do   Action  `json:"do"`
	// The effect ends after a duration (field For), or when a client reaches a point of its run (field Until). It never ends if
	// both fields are zero.
	For   time.Duration    `json:"for_ns,omitempty"`
	Until workloads.Moment `json:"until,omitzero"`
}

// Trigger states when a step happens. At is a point in a client's run; the zero value means just before the clients
// start. Without Later and On, the step happens at this point. With Later, the step happens this much later. With On,
// the step happens when the selected command, or its reply, passes after the point.
type Trigger struct {
	At    workloads.Moment `json:"at,omitzero"`
	Later time.Duration    `json:"later_ns,omitempty"` // delay after the point At; the client does not wait for it
	On    *Passing         `json:"on,omitempty"`
}

// Passing selects the nth matching command or reply between a process and its servers. Counting starts when a client
// reaches the point Trigger.At of its run.
type Passing struct {
	Process  int      `json:"process"`
	Commands []string `json:"commands,omitempty"` // names of the commands; empty: any command
	Nth      int      `json:"nth"`
	Reply    bool     `json:"reply,omitempty"` // true: count the replies to the commands; false: count the commands
}

// Verb is the kind of an action, such as pausing a process.
type Verb string

const (
	Stall   Verb = "stall"   // a client's work under the lock takes the duration Action.By
	Abandon Verb = "abandon" // a client stops without releasing its lock
	GiveUp  Verb = "cancel"  // a client stops its acquire after Action.Wait, by its timeout or its context; the reply is delayed by Action.By
	Pause   Verb = "pause"   // a process is paused
	Kill    Verb = "kill"    // a process is killed
	Exit    Verb = "exit"    // the main function of a program ends, and the program exits by itself without a release

	// ClientJump sets the wall clock of a process forward by Action.By. A negative value sets it back.
	ClientJump Verb = "client-jump"
	// ClientDrift makes the wall clock of a process gain Action.By per second. A negative value slows it.
	ClientDrift Verb = "client-drift"

	// Interrupt makes a client cancel its release after Action.Wait. The command that triggers the step is delayed by
	// Action.By. The release has an unknown outcome.
	Interrupt Verb = "interrupt"

	Delay Verb = "delay" // the command or reply that triggers the step is delayed by Action.By
	Lose  Verb = "lose"  // the reply that triggers the step is lost, and so are all later bytes on its connection
	Cut   Verb = "cut"   // bytes between a process and the servers Action.Nodes are dropped
	Slow  Verb = "slow"  // every command and reply is delayed by Action.By
	Mute  Verb = "mute"  // published messages are dropped
	Reset Verb = "reset" // the connections between a process and the servers Action.Nodes are closed

	Restart  Verb = "restart"  // the servers Action.Nodes are killed and restart after Action.By; they keep their data only if Action.Keeps is true
	Down     Verb = "down"     // the servers Action.Nodes are killed and not restarted
	Freeze   Verb = "freeze"   // the servers Action.Nodes are paused
	Unlink   Verb = "unlink"   // the replicas Action.Nodes receive no more writes from their primary
	Failover Verb = "failover" // the primary is killed, and the replica Action.Nodes[0] is promoted; Sentinels, if any, choose the replica themselves
	Jump     Verb = "jump"     // the clocks of the servers Action.Nodes are set forward by Action.By; a negative value sets them back
	Drift    Verb = "drift"    // the clocks of the servers Action.Nodes gain Action.By per second; a negative value slows them
	Unseat   Verb = "unseat"   // the server Action.Nodes[0] ends the session that holds the lock, or with Action.Waiter the last one that waits for it
	Depose   Verb = "depose"   // the leader of an ensemble is killed, and another server becomes the leader
	Evict    Verb = "evict"    // the lock's key is evicted from the servers Action.Nodes

	Empty         Verb = "empty"          // the servers Action.Nodes delete all their data
	ForgetScripts Verb = "forget-scripts" // the servers Action.Nodes forget the scripts that clients loaded
	ReadOnly      Verb = "read-only"      // the servers Action.Nodes refuse writes and keep their data
	Full          Verb = "full"           // the servers Action.Nodes refuse writes that need memory
)

// Action describes the effect of a step. The verb determines which fields are used.
type Action struct {
	Verb    Verb          `json:"verb"`
	Client  int32         `json:"client,omitempty"`
	Process int           `json:"process,omitempty"` // index of the affected process; -1: all processes
	Nodes   []int         `json:"nodes,omitempty"`
	By      time.Duration `json:"by_ns,omitempty"`
	Wait    time.Duration `json:"wait_ns,omitempty"`
	Silent  bool          `json:"silent,omitempty"`  // for Lose: keep the connection open after the reply is lost
	OneWay  bool          `json:"one_way,omitempty"` // for Cut: drop only the bytes to the process
	Keeps   bool          `json:"keeps,omitempty"`   // for Restart: the servers keep their data
	Waiter  bool          `json:"waiter,omitempty"`  // for Unseat: end the session of the last waiter instead of the holder's
	Context bool          `json:"context,omitempty"` // for GiveUp: cancel the context of the acquire instead of shortening its timeout
}

// All returns every fault.
func All() []Fault {
	return []Fault{None(),
		holderStall, processPause, pauseBeforeAnswer, pauseInRelease, holderKill, holderAbandon, killBetween, cancelledAcquire,
		clientClockForward, clientClockBack,
		slowNetwork, lostReply, lostReplySilent, partition, partitionOneWay, delayedRelease, lostWakeup,
		serverRestart, serverPause, failover, failoverSynced, clockForward, clockBack,
		nodeRestart, minorityDown, eviction, sessionKill, halfOpen, leaderLoss}
}

// None returns the fault that injects nothing.
func None() Fault {
	return Fault{Name: "none", Kind: Nothing, Doc: "nothing is injected"}
}

// The victim of a fault is the first client. No other client shares its process. Usually the fault affects the victim's first
// hold.
const (
	victim        int32 = 0
	victimProcess int   = 0
)

// granted returns the point in a client's run at which its acquire in an iteration is granted.
func granted(client int32, iteration uint64) workloads.Moment {
	return workloads.Moment{Client: client, Iteration: iteration, Point: workloads.Granted}
}

// gatesInTurn returns gates that make three clients start one after another. The second client starts when the first is
// granted the lock in an iteration. The third client starts when the second is granted the lock.
func gatesInTurn(s Scene, iteration uint64) []Gate {
	return []Gate{
		{Client: 1, Until: granted(victim, iteration), Timeout: 2 * s.TTL},
		{Client: 2, Until: granted(1, 0), Timeout: 3 * s.TTL},
	}
}

// working returns the moment at which a client has read the guarded value but has not yet written it.
func working(client int32) workloads.Moment {
	return workloads.Moment{Client: client, Point: workloads.Working}
}

func aroundFirstHold(s Scene, steps ...Step) Plan {
	return Plan{Gates: gatesInTurn(s, 0), Steps: steps}
}

// warmUp is the number of short holds of the victim before the hold that the fault affects. aroundLaterHold uses it.
const warmUp = 3

func aroundLaterHold(s Scene, steps ...Step) Plan {
	return Plan{Gates: gatesInTurn(s, warmUp), Quick: warmUp, Steps: steps}
}

func whenGranted() Trigger { return Trigger{At: granted(victim, 0)} }

func whenAnswered() Trigger {
	return Trigger{At: workloads.Moment{Client: victim, Point: workloads.Asking},
		On: &Passing{Process: victimProcess, Commands: []string{"SET", "SETNX", "EVAL", "EVALSHA"}, Nth: 1, Reply: true}}
}

// reasonUnless returns "" if its first argument is true. Otherwise it returns its second argument, the reason why a fault does
// not apply. The functions in Fault.Only use it.
func reasonUnless(can bool, why string) string {
	if can {
		return ""
	}
	return why
}

// longerThanLease returns a duration longer than a lease, but shorter than a lease plus the next holder's work.
func longerThanLease(s Scene) time.Duration { return s.TTL * 3 / 2 }

// Params returns the parameters of a trial with the fault. Three clients in three processes share one key. Each client works
// for most of a lease. Thus a client that is granted the lock too early overlaps with the holder. A TTL of 0 means UsualTTL.
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

// UsualTTL is the default lease. It is short, so that trials are short. It is still long compared with a command on a busy
// machine.
const UsualTTL = 800 * time.Millisecond

// OnItsWay reports whether an action affects a single command or reply on its way through the network.
func OnItsWay(v Verb) bool { return v == GiveUp || v == Interrupt || v == Delay || v == Lose }

// MovesClientClock reports whether an action changes the wall clock of a process.
func MovesClientClock(v Verb) bool { return v == ClientJump || v == ClientDrift }

// IsDrift reports whether an action changes the rate of a clock. Its Action.By is a rate.
func IsDrift(v Verb) bool { return v == Drift || v == ClientDrift }

// Kind returns Servers if any step affects servers. If not, it returns Network if any step affects the network. Otherwise it
// returns Clients.
func (p Plan) Kind() Kind {
	kind := Clients
	for _, s := range p.Steps {
		switch s.Do.Verb {
		case Stall, Abandon, GiveUp, Interrupt, Pause, Kill, Exit, ClientJump, ClientDrift:
		case Delay, Lose, Cut, Slow, Mute, Reset:
			kind = Network
		default:
			return Servers
		}
	}
	return kind
}

// Rest limits the number of iterations of a client. It replaces an earlier limit of the same client.
func (p *Plan) Rest(client int32, iterations uint64) {
	for i := range p.Turns {
		if p.Turns[i].Client == client {
			p.Turns[i].Iterations = iterations
			return
		}
	}
	p.Turns = append(p.Turns, Turns{client, iterations})
}
