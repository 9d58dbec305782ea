// Package fleet distributes tasks over agents, on one machine or on many. A Coordinator puts tasks into a queue of NATS
// JetStream and returns their results. An Agent takes tasks from the queue, runs each with the Handler of its kind, and
// sends the result back. Without an address the queue is part of the coordinator's process, which also runs an agent, so
// one machine needs no set-up.
//
// The queue only schedules. A task that no agent is running is put into the queue again, and results are stored in a
// journal of the coordinator, one for each task. So it does not matter which agent, server or coordinator ends.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Handler runs a task. It returns a value that can be encoded as JSON. If ctx ends, it must undo what it has done to this
// machine, such as faults, and return.
type Handler func(ctx context.Context, body json.RawMessage) (any, error)

// Handlers has a handler for each kind of task.
type Handlers map[string]Handler

// Times that bound how long a part may be silent.
const (
	beatInterval = time.Second      // between the heartbeats of agents and coordinators
	agentLease   = 10 * time.Second // after it, a silent agent is gone, and its tasks are given to others
	// campaignLease is the time after which an agent stops the tasks of a silent coordinator, which undoes their faults.
	campaignLease = 10 * time.Second
	requeueAfter  = 30 * time.Second // after it, a task that no agent is running is put into the queue again
	// deliverTimeout is the time for which an agent keeps a result for a coordinator that does not answer.
	deliverTimeout = 30 * time.Second
	callTimeout    = 5 * time.Second // of one exchange with the server
)

const (
	deliveries  = 5        // number of times a task is given to an agent before it fails
	mostPayload = 8 << 20  // largest message in bytes
	mostDecoded = 64 << 20 // largest decompressed message in bytes
)

// task is a unit of work as it travels to an agent.
type task struct {
	Campaign string          `json:"campaign"`
	Key      string          `json:"key"` // identifies the task in its campaign
	Kind     string          `json:"kind"`
	Body     json.RawMessage `json:"body"`
	Limit    time.Duration   `json:"limit_ns"` // time limit of the handler
}

// outcome is the result of a task as it travels to the coordinator.
type outcome struct {
	Key     string          `json:"key"`
	Agent   string          `json:"agent"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Refused bool            `json:"refused,omitempty"` // the agent does not run such tasks
	Ended   bool            `json:"ended,omitempty"`   // the agent is ending, so a call has no result
}

// Presence is the heartbeat of an agent.
type Presence struct {
	Name    string   `json:"name"` // host and process ID
	Build   string   `json:"build"`
	Slots   int      `json:"slots"`
	Running []string `json:"running"` // keys of tasks, each with its campaign before it
	Done    int      `json:"done"`    // number of finished tasks
}

// Subjects of messages. A task goes only to agents of the same build, because another one could draw other cases.
const (
	stream     = "LOCKBENCH"
	taskPrefix = "lockbench.task."
)

func taskSubject(build, campaign string) string { return taskPrefix + build + "." + campaign }
func resultSubject(campaign string) string      { return "lockbench.result." + campaign }
func beatSubject(campaign string) string        { return "lockbench.campaign." + campaign }
func presenceSubject(agent string) string       { return "lockbench.agent." + agent }
func consumerName(build string) string          { return "agents-" + build }
func running(campaign, key string) string       { return campaign + " " + key }

// localBuild is the build of agents and coordinators in one process.
const localBuild = "local"

// Build returns the first characters of the SHA-256 of this program.
func Build() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, program); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// Messages are compressed, because a history is, by a factor of about six.
var (
	compressor, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	decompressor, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostDecoded))
)

// pack encodes a message. It returns an error if the message is larger than the server accepts.
func pack(v any, most int64) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	packed := compressor.EncodeAll(text, nil)
	if most = min(most, mostPayload); int64(len(packed)) > most {
		return nil, fmt.Errorf("message of %d bytes: the server accepts %d", len(packed), most)
	}
	return packed, nil
}

func unpack(packed []byte, v any) error {
	text, err := decompressor.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("decompress message: %w", err)
	}
	return json.Unmarshal(text, v)
}

// ErrRefused is the error of a task that its agent does not run, for example because it is not allowed there.
var ErrRefused = errors.New("refused by an agent")

var errGone = errors.New("the coordinator is gone")
