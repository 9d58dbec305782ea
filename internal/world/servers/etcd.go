package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func etcdStore() store {
	return store{
		name: Etcd, product: "etcd",
		durability: "on disk: a log, with an fsync before each answer",
		missing:    func() error { return nil },
		deployments: []deployment{
			{Single, 1, "", startEtcds},
			{Three, 3, "", startEtcds},
		},
	}
}

const (
	etcdWithin = 20 * time.Second
	// The ticks of etcd, of which it takes ten without a leader to elect one. Those of an ensemble must not hurry: on a
	// busy machine a leader that is late is not one that is lost.
	etcdTick  = 10 * time.Millisecond
	etcdTicks = 30 * time.Millisecond
)

// etcdNode is a server of this program's own, in a process of its own.
type etcdNode struct {
	*local
	self   string
	tick   time.Duration
	number int   // in its ensemble, from 0
	peers  []int // the ports by which the ensemble knows each other
}

var (
	_ Node     = (*etcdNode)(nil)
	_ leader   = (*etcdNode)(nil)
	_ unseater = (*etcdNode)(nil)
)

// startEtcds starts an ensemble, also one of one.
func startEtcds(ctx context.Context, l launcher, g *Group, nodes int) error {
	if l.self == "" {
		return errors.New("this program is not a server of etcd")
	}
	tick := etcdTick
	if nodes > 1 {
		tick = etcdTicks
		g.Durability = "on the disks of a majority: a log, with an fsync before each answer"
	}
	return startEnsemble(ctx, l, g, Etcd, nodes, 1, func(ctx context.Context, i int, peers []int) (peer, error) {
		n, err := start(ctx, l, 1, etcdWithin, func(n *local) (*etcdNode, product) {
			e := &etcdNode{n, l.self, tick, i, peers}
			return e, e
		})
		if err != nil {
			return peer{}, err
		}
		return peer{n, n.version}, nil
	})
}

func (n *etcdNode) URL() string { return "etcd://" + n.addr() }

func (n *etcdNode) prepare(context.Context) error { return nil }

// named is a name that no other server has, as long as this program runs and has the port.
func named(peer int) string { return fmt.Sprintf("lockbench-%d-%d", os.Getpid(), peer) }

func peerURL(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

func (n *etcdNode) command() (*exec.Cmd, error) {
	var all []string
	for _, p := range n.peers {
		all = append(all, named(p)+"="+peerURL(p))
	}
	mine := n.peers[n.number]
	return exec.Command(n.self, StoreVerb, Etcd, named(mine), n.dir, "http://"+n.addr(), peerURL(mine),
		strings.Join(all, ","), strconv.FormatInt(n.tick.Milliseconds(), 10)), nil
}

// client is for a few questions. The caller closes it.
func (n *etcdNode) client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + n.addr()}, Logger: zap.NewNop(), DialTimeout: askWithin})
}

// ask knows the child by its name, in an answer that takes a leader.
func (n *etcdNode) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.addr())
	if err != nil {
		return "", err // a client would try for longer
	}
	_ = conn.Close()
	c, err := n.client()
	if err != nil {
		return "", err
	}
	defer c.Close()
	list, err := c.MemberList(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list.Members {
		if m.ID == list.Header.MemberId && m.Name == named(n.peers[n.number]) {
			status, err := c.Status(ctx, n.addr())
			if err != nil {
				return "", err
			}
			return status.Version, nil
		}
	}
	return "", errors.New("another server answers")
}

func (n *etcdNode) leads(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	c, err := n.client()
	if err != nil {
		return false, err
	}
	defer c.Close()
	status, err := c.Status(ctx, n.addr())
	if err != nil {
		return false, err
	}
	return status.Leader == status.Header.MemberId, nil
}

// unseat ends the lease of the key that was created first under the lock's name: with it goes that key.
func (n *etcdNode) unseat(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	c, err := n.client()
	if err != nil {
		return err
	}
	defer c.Close()
	first, err := c.Get(ctx, url.PathEscape(key)+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return err
	}
	if len(first.Kvs) == 0 || first.Kvs[0].Lease == 0 {
		return errors.New("nobody was seen to hold it")
	}
	if _, err := c.Revoke(ctx, clientv3.LeaseID(first.Kvs[0].Lease)); err != nil {
		return err
	}
	left, err := c.Get(ctx, string(first.Kvs[0].Key))
	if err == nil && len(left.Kvs) > 0 {
		err = errors.New("its session was not seen to end")
	}
	return err
}

func (n *etcdNode) counters(ctx context.Context) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr()+"/metrics", nil)
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
		return nil, fmt.Errorf("unexpected answer %s", answer.Status)
	}
	return etcdCounters(answer.Body)
}

// etcdCounters picks from a page of metrics the messages of clients by what they asked for, and the totals. A message is
// a call, or one question within a stream, of which leases are kept alive.
func etcdCounters(page io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		metric, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(metric, "#") {
			continue
		}
		name, labels, _ := strings.Cut(metric, "{")
		switch name {
		case "grpc_server_msg_received_total":
			_, method, _ := strings.Cut(labels, `grpc_method="`)
			method, _, _ = strings.Cut(method, `"`)
			name = "calls." + method
		case "etcd_network_client_grpc_received_bytes_total":
			name = "total_net_input_bytes"
		case "etcd_network_client_grpc_sent_bytes_total":
			name = "total_net_output_bytes"
		case "process_cpu_seconds_total":
			name = "used_cpu"
		default:
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("counter %s: %w", name, err)
		}
		all[name] += number
	}
	return all, lines.Err()
}
