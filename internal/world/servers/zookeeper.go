package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	zooKeeperProgram = "java"
	zooKeeperWithin  = 30 * time.Second // a Java machine on a busy one
	javaLibraries    = "/usr/share/java"
)

// zooKeeperLibraries are what ZooKeeper is made of, as Debian has it.
func zooKeeperLibraries() []string {
	return strings.Fields("zookeeper zookeeper-jute slf4j-api slf4j-simple netty-handler netty-buffer netty-common " +
		"netty-transport netty-transport-native-epoll netty-transport-native-unix-common netty-codec netty-resolver " +
		"metrics-core snappy-java commons-cli log4j-1.2")
}

func zooKeeperStore() store {
	return store{
		name: ZooKeeper, product: "zookeeper", provide: "apt install zookeeper default-jre-headless",
		durability: "on disk: a log, with an fsync before each answer",
		missing:    zooKeeperMissing,
		deployments: []deployment{
			{Single, 1, "", startZooKeepers},
			{Three, 3, "", startZooKeepers},
		},
	}
}

func zooKeeperMissing() error {
	if _, err := exec.LookPath(zooKeeperProgram); err != nil {
		return err
	}
	if _, err := os.Stat(library(zooKeeperLibraries()[0])); err != nil {
		return fmt.Errorf("there is no ZooKeeper in %s", javaLibraries)
	}
	return nil
}

func library(name string) string { return filepath.Join(javaLibraries, name+".jar") }

// zooKeeperNode is a ZooKeeper of our own.
type zooKeeperNode struct {
	*local
	number int   // in its ensemble, from 0
	peers  []int // two ports for each of the ensemble: the leader's, and the election's
}

var (
	_ Node   = (*zooKeeperNode)(nil)
	_ leader = (*zooKeeperNode)(nil)
)

// startZooKeepers starts an ensemble, also one of one.
func startZooKeepers(ctx context.Context, l launcher, g *Group, nodes int) error {
	if nodes > 1 {
		g.Durability = "on the disks of a majority: a log, with an fsync before each answer"
	}
	return startEnsemble(ctx, l, g, ZooKeeper, nodes, 2, func(ctx context.Context, i int, peers []int) (peer, error) {
		n, err := start(ctx, l, 1, zooKeeperWithin, func(n *local) (*zooKeeperNode, product) {
			z := &zooKeeperNode{n, i, peers}
			return z, z
		})
		if err != nil {
			return peer{}, err
		}
		return peer{n, n.version}, nil
	})
}

func (n *zooKeeperNode) URL() string { return "zookeeper://" + n.addr() }

// config is short of patience: a session lasts from 400 ms on, and its end is noticed a tick later at most.
func (n *zooKeeperNode) config() string {
	lines := []string{"tickTime=200", "minSessionTimeout=400", "maxSessionTimeout=60000", "initLimit=50", "syncLimit=10",
		"maxClientCnxns=0", "clientPort=" + strconv.Itoa(n.ports[0]), "clientPortAddress=127.0.0.1", "dataDir=" + n.dir,
		"admin.enableServer=false", "4lw.commands.whitelist=mntr,conf"}
	if len(n.peers) > 2 {
		for i := 0; i < len(n.peers); i += 2 {
			lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i/2+1, n.peers[i], n.peers[i+1]))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func (n *zooKeeperNode) configFile() string { return filepath.Join(n.dir, "zoo.cfg") }

func (n *zooKeeperNode) prepare(context.Context) error {
	return errors.Join(os.WriteFile(n.configFile(), []byte(n.config()), 0o600),
		os.WriteFile(filepath.Join(n.dir, "myid"), []byte(strconv.Itoa(n.number+1)), 0o600))
}

// command starts it with as small and as quick a Java machine as will do. The class for ensembles begins as the other
// where there is but one server.
func (n *zooKeeperNode) command() (*exec.Cmd, error) {
	var path []string
	for _, name := range zooKeeperLibraries() {
		path = append(path, library(name))
	}
	return exec.Command(zooKeeperProgram, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(path, ":"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", n.configFile()), nil
}

// zooKeeperSoon bounds a question to one that is coming up: it takes some, and does not answer them.
const zooKeeperSoon = 300 * time.Millisecond

// ask knows the child by its folder.
func (n *zooKeeperNode) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, zooKeeperSoon)
	defer cancel()
	conf, err := n.word(ctx, "conf")
	if err != nil {
		return "", err
	}
	if !strings.Contains(conf, "dataDir="+n.dir+"/") {
		return "", errors.New("another server answers, or none that serves")
	}
	info, err := n.monitor(ctx)
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(info["zk_version"], "-")
	if version == "" {
		return "", errors.New("it does not serve yet")
	}
	return version, nil
}

// word asks one of the questions that have four letters.
func (n *zooKeeperNode) word(ctx context.Context, question string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, question); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// monitor is what it says of itself: lines of a name, a tab and a value.
func (n *zooKeeperNode) monitor(ctx context.Context) (map[string]string, error) {
	answer, err := n.word(ctx, "mntr")
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(answer) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			info[name] = value
		}
	}
	return info, nil
}

func (n *zooKeeperNode) leads(ctx context.Context) (bool, error) {
	info, err := n.monitor(ctx)
	return info["zk_server_state"] == "leader", err
}

// zooKeeperCounted are the server's names of what it has done: reads and writes for clients, sessions' among them, and
// how many watches it found to fire, which is how many clients it woke.
func zooKeeperCounted() map[string]string {
	return map[string]string{
		"zk_cnt_readlatency": "calls.read", "zk_cnt_updatelatency": "calls.update",
		"zk_sum_node_deleted_watch_count": "woken.deleted", "zk_sum_node_children_watch_count": "woken.children",
		"zk_packets_received": "packets_received", "zk_packets_sent": "packets_sent", "zk_bytes_received_count": "total_net_input_bytes",
	}
}

func (n *zooKeeperNode) counters(ctx context.Context) (map[string]float64, error) {
	info, err := n.monitor(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for theirs, ours := range zooKeeperCounted() {
		if all[ours], err = strconv.ParseFloat(info[theirs], 64); err != nil {
			return nil, fmt.Errorf("counter %s: %w", theirs, err)
		}
	}
	return all, nil
}
