package lockbenchworker

import (
	"fmt"
	"regexp"
	"time"
)

type opening struct {
	Version  int  `json:"lockbench_worker"`
	Describe bool `json:"describe"`
	Env
	TTLMS    int64  `json:"ttl_ms"`
	Resource string `json:"resource"`
}

type description struct {
	Version      int           `json:"lockbench_worker"`
	Name         string        `json:"name"`
	Doc          string        `json:"doc,omitempty"`
	Store        string        `json:"store,omitempty"`
	Deployment   string        `json:"deployment,omitempty"`
	Capabilities []string      `json:"capabilities,omitempty"`
	BackoffMS    int64         `json:"backoff_ms,omitempty"`
	ShortestMS   int64         `json:"shortest_lease_ms,omitempty"`
	StepMS       int64         `json:"lease_step_ms,omitempty"`
	StartMS      int64         `json:"start_ms,omitempty"`
	Expect       []Expectation `json:"expect,omitempty"`
	Error        string        `json:"error,omitempty"`
}

type request struct {
	ID        int64  `json:"id"`
	Do        string `json:"do"`
	Key       string `json:"key"`
	Owner     string `json:"owner"`
	TTLMS     int64  `json:"ttl_ms"`
	WaitMS    int64  `json:"wait_ms"`
	KeepAlive bool   `json:"keep_alive"`
	Hold      int64  `json:"hold"`
	Token     string `json:"token"`
	Fence     int64  `json:"fence"`
	Depth     int    `json:"depth"`
	Validity  int64  `json:"validity_ns"`
	Value     int64  `json:"value"`
	Time      bool   `json:"time"`
	read      time.Time
}

// reply is an answer to a request, or reports the loss or a renewal of a hold.
type reply struct {
	ID       int64  `json:"id,omitempty"`
	OK       bool   `json:"ok,omitempty"`
	Refused  string `json:"refused,omitempty"`
	Error    string `json:"error,omitempty"`
	Token    string `json:"token,omitempty"`
	Fence    int64  `json:"fence,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	Sent     int64  `json:"sent_after_ns,omitempty"`
	Validity int64  `json:"validity_ns,omitempty"`
	Left     int64  `json:"left_ns,omitempty"`
	Value    int64  `json:"value,omitempty"`
	TimeMS   int64  `json:"time_ms,omitempty"`
	Lost     int64  `json:"lost,omitempty"`
	Renewed  int64  `json:"renewed,omitempty"`
	Elapsed  int64  `json:"elapsed_ns,omitempty"`
}

// longestError is the length in bytes to which error messages are cut.
const longestError = 1000

// userOf matches the user and password in a URL.
var userOf = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s]*@`)

// scrub returns the text of an error without passwords, and not longer than longestError.
func scrub(err error) string {
	text := userOf.ReplaceAllString(err.Error(), "$1")
	if len(text) > longestError {
		text = text[:longestError]
	}
	return or(text, fmt.Sprintf("%T", err))
}
