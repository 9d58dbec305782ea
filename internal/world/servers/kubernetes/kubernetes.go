// Package kubernetes describes how to run a stand-in for the API server of Kubernetes. The stand-in is part of this
// program (see package builtin). It has only the Lease objects of coordination.k8s.io/v1, with checks of their resource
// versions. It has no authentication, watches or lists.
package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"lockbench/internal/world/servers"
)

// version is the version of the API that the stand-in offers.
const version = "coordination.k8s.io/v1"

// Store returns the description of the stand-in.
func Store() servers.Store {
	return servers.Store{
		Name: servers.Kubernetes, Product: "kubernetes stand-in",
		Durability:   "on disk: a journal, with an fsync before each answer",
		Deployments:  []servers.Deployment{{Name: servers.Single, Nodes: 1}},
		StartTimeout: 5 * time.Second, RestartTime: 200 * time.Millisecond, Command: command, Ask: ask,
		URL: func(addr string) string { return "kubernetes://" + addr }, Counters: counters,
	}
}

func command(p *servers.Process) (*exec.Cmd, error) {
	return p.SelfCommand(servers.Kubernetes, "--listen", p.Addr(), "--dir", p.Dir)
}

func ask(ctx context.Context, p *servers.Process) (string, error) {
	s, err := status(ctx, p.Addr())
	if err == nil && s.PID != p.Pid() {
		err = servers.ErrOtherServer
	}
	return version, err
}

func counters(ctx context.Context, addr string) (map[string]float64, error) {
	s, err := status(ctx, addr)
	all := map[string]float64{}
	for verb, n := range s.Calls {
		all["calls."+verb] = float64(n)
	}
	return all, err
}

// Status holds the process and the counters of a server.
type Status struct {
	PID   int              // process ID
	Calls map[string]int64 // number of requests for leases, by HTTP method
}

// Client requests the status of a server.
type Client struct{ http.Client }

// NewClient returns a client that keeps its connection open.
func NewClient() *Client { return &Client{http.Client{Transport: &http.Transport{}}} }

// Close closes the connections.
func (c *Client) Close() { c.CloseIdleConnections() }

// Status returns the status of the server at an address.
func (c *Client) Status(ctx context.Context, addr string) (s Status, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/lockbench", nil)
	if err != nil {
		return s, err
	}
	answer, err := c.Do(r)
	if err != nil {
		return s, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("read the status: %s", answer.Status)
	}
	return s, json.NewDecoder(answer.Body).Decode(&s)
}

func status(ctx context.Context, addr string) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, servers.AskTimeout)
	defer cancel()
	c := NewClient()
	defer c.Close()
	return c.Status(ctx, addr)
}
