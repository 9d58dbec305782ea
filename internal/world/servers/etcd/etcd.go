// Package etcd describes etcd to package servers. Package servers can start one etcd server or three replicated servers.
// Store returns the description. A local etcd server is a child process that runs the lockbench program itself (see
// package builtin).
package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/internal/world/servers"
)

// Durations of an etcd tick. A server starts an election after ten ticks without a leader. An ensemble has longer ticks,
// so that slow machines do not cause elections.
const (
	tickAlone  = 10 * time.Millisecond
	tickOfMany = 30 * time.Millisecond
)

// Store returns the description of etcd.
func Store() servers.Store {
	return servers.Store{
		Name: servers.Etcd, Product: "etcd",
		Durability: "on disk: a log, with an fsync before each answer",
		Deployments: []servers.Deployment{
			{Name: servers.Single, Nodes: 1, Peers: 1, Contained: true},
			{Name: servers.Three, Nodes: 3, Peers: 1, Durability: "on the disks of a majority: a log, with an fsync before each answer"},
		},
		ExpiryDelay:  time.Second,
		StartTimeout: 20 * time.Second, RestartTime: 200 * time.Millisecond, Command: command, Ask: ask,
		URL:   func(addr string) string { return "etcd://" + addr },
		Leads: leads, Counters: counters, EndSession: endSession, Observing: servers.Observing{Open: observe, Step: leaseStep},
		Image: servers.Image{Name: "quay.io/coreos/etcd:v3.5.21", Port: "2379", Variable: "LOCKBENCH_ETCD_IMAGE",
			Command: []string{"etcd", "--name=one", "--data-dir=/etcd-data", "--heartbeat-interval=10", "--election-timeout=100",
				"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://127.0.0.1:2379"},
			// The server accepts no writes before it has been elected leader.
			Ready: func(ctx context.Context, addr string) error {
				leads, err := leads(ctx, addr)
				if err == nil && !leads {
					err = errors.New("not elected yet")
				}
				return err
			}},
		External: access(),
	}
}

// named returns a member name for the server on a port. The name is unique while this program runs.
func named(peer int) string { return fmt.Sprintf("lockbench-%d-%d", os.Getpid(), peer) }

func peerURL(port int) string { return "http://" + servers.Loopback(port) }

func command(p *servers.Process) (*exec.Cmd, error) {
	var all []string
	for _, port := range p.Peers {
		all = append(all, named(port)+"="+peerURL(port))
	}
	tick := tickAlone
	if len(all) > 1 {
		tick = tickOfMany
	}
	mine := p.Peers[p.Number]
	return p.SelfCommand(servers.Etcd, named(mine), p.Dir, "http://"+p.Addr(), peerURL(mine),
		strings.Join(all, ","), strconv.FormatInt(tick.Milliseconds(), 10))
}

// withClient creates a client of the servers, calls do with the client, and closes the client. The client stops
// retrying when the context ends.
func withClient(ctx context.Context, hosts []string, user, password string, do func(context.Context, *clientv3.Client) error) error {
	var endpoints []string
	for _, h := range hosts {
		endpoints = append(endpoints, "http://"+h)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Context: ctx, Logger: zap.NewNop(), DialTimeout: servers.ReachTimeout,
		Username: user, Password: password})
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}

func query(ctx context.Context, addr string, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, servers.AskTimeout)
	defer cancel()
	return withClient(ctx, []string{addr}, "", "", do)
}

// ask returns the version of the server. It returns an error if the server is not the child process p or has no leader.
func ask(ctx context.Context, p *servers.Process) (version string, err error) {
	// Check that a server listens, because the client would retry until the timeout.
	if err := servers.Ask(ctx, p.Addr(), func(net.Conn) error { return nil }); err != nil {
		return "", err
	}
	err = query(ctx, p.Addr(), func(ctx context.Context, c *clientv3.Client) error {
		list, err := c.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, m := range list.Members {
			if m.ID == list.Header.MemberId && m.Name == named(p.Peers[p.Number]) {
				status, err := c.Status(ctx, p.Addr())
				if err == nil {
					version = status.Version
				}
				return err
			}
		}
		return servers.ErrOtherServer
	})
	return version, err
}

func leads(ctx context.Context, addr string) (leads bool, err error) {
	err = query(ctx, addr, func(ctx context.Context, c *clientv3.Client) error {
		status, err := c.Status(ctx, addr)
		leads = err == nil && status.Leader == status.Header.MemberId
		return err
	})
	return leads, err
}

// endSession revokes the lease of the lock's holder or last waiter. The oldest key with the lock's name is the holder's, and
// the newest is the last waiter's.
func endSession(ctx context.Context, addr, key string, of servers.Role) error {
	return query(ctx, addr, func(ctx context.Context, c *clientv3.Client) error {
		queue, err := queued(ctx, c, key)
		switch {
		case err != nil:
			return err
		case len(queue) == 0 || queue[0].Lease == 0:
			return servers.ErrNoHolder
		}
		ended := queue[0]
		if of == servers.LastWaiter {
			if ended = queue[len(queue)-1]; len(queue) == 1 || ended.Lease == queue[0].Lease {
				return servers.ErrNoWaiter
			}
		}
		if _, err := c.Revoke(ctx, clientv3.LeaseID(ended.Lease)); err != nil {
			return err
		}
		left, err := queued(ctx, c, key)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(left, func(kv *mvccpb.KeyValue) bool { return kv.CreateRevision == ended.CreateRevision }):
			return errors.New("its session has not ended")
		case of == servers.LastWaiter && (len(left) == 0 || left[0].CreateRevision != queue[0].CreateRevision):
			return servers.ErrHolderChanged
		}
		return nil
	})
}

// queued returns the keys with the lock's name, the oldest first.
func queued(ctx context.Context, c *clientv3.Client, key string) ([]*mvccpb.KeyValue, error) {
	all, err := c.Get(ctx, url.PathEscape(key)+"/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, err
	}
	return all.Kvs, nil
}

func counters(ctx context.Context, addr string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, servers.AskTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	req.Close = true
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics: status %s", answer.Status)
	}
	return counted(answer.Body)
}

// totals maps the names of etcd's counters to lockbench's names.
var totals = map[string]string{"etcd_network_client_grpc_received_bytes_total": "total_net_input_bytes",
	"etcd_network_client_grpc_sent_bytes_total": "total_net_output_bytes", "process_cpu_seconds_total": "used_cpu"}

// counted parses a page of etcd's metrics. It returns the counters listed in totals, and the number of client messages
// of each gRPC method. One call of a streaming method can have many messages, for example keep-alives.
func counted(page io.Reader) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return nil, fmt.Errorf("parse the metrics: %w", err)
	}
	all := map[string]float64{}
	for name, ours := range totals {
		for _, m := range families[name].GetMetric() {
			all[ours] += m.GetCounter().GetValue()
		}
	}
	for _, m := range families["grpc_server_msg_received_total"].GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == "grpc_method" {
				all["calls."+label.GetValue()] += m.GetCounter().GetValue()
			}
		}
	}
	return all, nil
}

// access returns the address format of a user's etcd, and functions to inspect and clean it. Access.Names returns etcd
// keys.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "host:2379,host:2379", Port: "2379", Many: true, Secret: true, Database: regexp.MustCompile(`^$`),
			Rewrite: func(text string) (string, error) { return strings.Replace(text, "http://", "etcd://", 1), nil }},
		Version: func(ctx context.Context, t servers.Target, host string) (version string, err error) {
			err = withTarget(ctx, t, []string{host}, func(ctx context.Context, c *clientv3.Client) error {
				status, err := c.Status(ctx, "http://"+host)
				if err == nil {
					version = status.Version
				}
				return err
			})
			return version, err
		},
		Names: func(ctx context.Context, t servers.Target, prefix string) (names []string, err error) {
			err = withTarget(ctx, t, t.Hosts(), func(ctx context.Context, c *clientv3.Client) error {
				found, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
				if err == nil {
					for _, kv := range found.Kvs {
						names = append(names, string(kv.Key))
					}
				}
				return err
			})
			return names, err
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return withTarget(ctx, t, t.Hosts(), func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.Delete(ctx, prefix, clientv3.WithPrefix())
				return err
			})
		},
	}
}

func withTarget(ctx context.Context, t servers.Target, hosts []string, do func(context.Context, *clientv3.Client) error) error {
	return withClient(ctx, hosts, t.User(), t.Password(), do)
}
