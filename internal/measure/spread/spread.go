// Package spread runs the clients of a bench trial on several machines. A Seat is the part on an agent: it runs the clients of one
// machine and records their history on that machine's clock. A Crew is the part at the coordinator: it prepares the seats, starts
// them at one time, bounds the differences of their clocks, and merges the histories.
//
// Two merged histories come out. The judged one shortens each hold by the uncertainty of the clocks, so the uncertainty may hide
// a violation and never invents one. The measured one shifts all times of a machine equally, so durations are exact: every
// latency was measured on one clock, and all machines' latencies are in one histogram.
package spread

import (
	"errors"
	"time"

	"lockbench/workloads"
)

// Share describes the part of a trial that an agent runs. It has no secrets: the agent has the addresses itself.
type Share struct {
	ID         string            `json:"id"` // of the trial
	Run        string            `json:"run"`
	Prefix     string            `json:"prefix"` // of all keys
	Lock       string            `json:"lock"`
	Deployment string            `json:"deployment,omitempty"`
	Workload   string            `json:"workload"`
	Params     workloads.Params  `json:"params"` // of the whole trial, without Params.Part
	Part       workloads.Part    `json:"part"`   // clients of the agent
	LockParams map[string]string `json:"lock_params,omitempty"`
	Delay      time.Duration     `json:"delay_ns,omitempty"` // delay that a self-check adds to each answer of a server
	Servers    []string          `json:"servers,omitempty"`  // addresses without secrets
}

// start makes an agent begin its share, or abandon it.
type start struct {
	ID      string        `json:"id"`
	At      time.Duration `json:"at_ns"` // on the agent's clock
	Abandon bool          `json:"abandon,omitempty"`
}

// done is the result of an agent's share.
type done struct {
	Zero time.Duration `json:"zero_ns"` // reading of the agent's clock when its history began
	Late time.Duration `json:"late_ns"` // how much later than planned that was
	Size int           `json:"size"`    // of the history, in bytes
}

// piece asks for a part of a history, and piecemeal holds it. A history may be larger than a message.
type piece struct {
	ID   string `json:"id"`
	From int    `json:"from"`
}

type piecemeal struct {
	Bytes []byte `json:"bytes"`
}

// Kinds of calls.
const (
	checkCall   = "load-check"
	runCall     = "load-run"
	readyCall   = "load-ready"
	startCall   = "load-start"
	historyCall = "load-history"
)

// Times of a trial.
const (
	// WarmUp is the time between the common start and the measured window. It is longer than lateStart, and shorter than the time
	// after which the self-check stalled-generator stops the generator (package workloads).
	WarmUp         = 150 * time.Millisecond
	startDelay     = 300 * time.Millisecond // from the decision to start to the common start
	lateStart      = 100 * time.Millisecond // an agent that begins later makes the trial discarded
	prepareTimeout = 30 * time.Second
	startTimeout   = 30 * time.Second // for which a prepared agent waits for the start
	callTimeout    = 10 * time.Second
	silence        = 5 * time.Second // an agent whose clock cannot be read for so long is lost
)

// Limits on what an agent may send.
const (
	pieceSize      = 512 << 10 // fits into a message of a NATS server with its default settings
	mostHistory    = 256 << 20 // bytes, compressed
	mostOperations = 5_000_000
)

// ErrDiscarded is the error of a trial that says nothing, because an agent was lost or late, or because of its clock.
var ErrDiscarded = errors.New("the trial is discarded")
