// Package zookeeper describes how to run ZooKeeper, as one server or as an ensemble.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/world/servers"
)

const (
	program       = "java"
	javaLibraries = "/usr/share/java"
)

// LongestSession is the longest session timeout that a server grants. A client that requests a longer one gets this one.
const LongestSession = 10 * time.Second

// Store returns the description of ZooKeeper.
func Store() servers.Store {
	return servers.Store{
		Name: servers.ZooKeeper, Product: "zookeeper", Provide: "apt install zookeeper default-jre-headless",
		Durability:  "on disk: a log, with an fsync before each answer",
		Missing:     missing,
		ExpiryDelay: 200 * time.Millisecond, // the server checks for expired sessions only at fixed intervals (ticks)
		Deployments: []servers.Deployment{
			{Name: servers.Single, Nodes: 1, Peers: 2, Contained: true},
			{Name: servers.Three, Nodes: 3, Peers: 2, Durability: "on the disks of a majority: a log, with an fsync before each answer"},
		},
		StartTimeout: 30 * time.Second, // a Java virtual machine starts slowly on a busy computer
		RestartTime:  700 * time.Millisecond,
		Prepare:      prepare, Command: command, Ask: ask,
		URL:   func(addr string) string { return "zookeeper://" + addr },
		Leads: leads, Counters: counters, EndSession: endSession,
		Image: servers.Image{Name: "zookeeper:3.8.4", Port: "2181", Variable: "LOCKBENCH_ZOOKEEPER_IMAGE",
			Environ: map[string]string{"ZOO_TICK_TIME": "200", "ZOO_MAX_CLIENT_CNXNS": "0", "ZOO_ADMINSERVER_ENABLED": "false",
				"ZOO_4LW_COMMANDS_WHITELIST": "mntr,srvr", "ZOO_CFG_EXTRA": "minSessionTimeout=400 maxSessionTimeout=" + strconv.FormatInt(LongestSession.Milliseconds(), 10)}},
		External: access(),
	}
}

func libraries() []string {
	return strings.Fields("zookeeper zookeeper-jute slf4j-api slf4j-simple netty-handler netty-buffer netty-common " +
		"netty-transport netty-transport-native-epoll netty-transport-native-unix-common netty-codec netty-resolver " +
		"metrics-core snappy-java commons-cli log4j-1.2")
}

func missing() error {
	if _, err := exec.LookPath(program); err != nil {
		return err
	}
	if _, err := os.Stat(library(libraries()[0])); err != nil {
		return fmt.Errorf("no ZooKeeper in %s", javaLibraries)
	}
	return nil
}

func library(name string) string { return filepath.Join(javaLibraries, name+".jar") }

func configFile(p *servers.Process) string { return filepath.Join(p.Dir, "zoo.cfg") }

// prepare writes the server's configuration. Timeouts are short. A session may be as short as 400 ms, and the server
// notices an expired session within a tick. In an ensemble, each server has two additional ports, for connections to the
// leader and for elections.
func prepare(_ context.Context, p *servers.Process) error {
	lines := []string{"tickTime=200", "minSessionTimeout=400", "maxSessionTimeout=" + strconv.FormatInt(LongestSession.Milliseconds(), 10), "initLimit=50", "syncLimit=10",
		"maxClientCnxns=0", "clientPort=" + strconv.Itoa(p.Ports[0]), "clientPortAddress=127.0.0.1", "dataDir=" + p.Dir,
		"admin.enableServer=false", "4lw.commands.whitelist=mntr,conf"}
	if len(p.Peers) > 2 {
		for i := 0; i < len(p.Peers); i += 2 {
			lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i/2+1, p.Peers[i], p.Peers[i+1]))
		}
	}
	return errors.Join(os.WriteFile(configFile(p), []byte(strings.Join(lines, "\n")+"\n"), 0o600),
		os.WriteFile(filepath.Join(p.Dir, "myid"), []byte(strconv.Itoa(p.Number+1)), 0o600))
}

// command returns the command that runs the server in a Java virtual machine with little memory and a short warm-up. The
// main class QuorumPeerMain runs both single servers and members of an ensemble.
func command(p *servers.Process) (*exec.Cmd, error) {
	var path []string
	for _, name := range libraries() {
		path = append(path, library(name))
	}
	return exec.Command(program, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", strings.Join(path, ":"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", configFile(p)), nil
}

// soon is the time limit of a request to a starting server, which accepts connections before it can answer.
const soon = 300 * time.Millisecond

// ask returns the version of the server. It returns an error if the server is not the child process p.
func ask(ctx context.Context, p *servers.Process) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	conf, err := word(ctx, p.Addr(), "conf")
	if err != nil {
		return "", err
	}
	if !strings.Contains(conf, "dataDir="+p.Dir+"/") {
		return "", servers.ErrOtherServer
	}
	info, err := monitor(ctx, p.Addr())
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(info["zk_version"], "-")
	if version == "" {
		return "", servers.ErrNotYet
	}
	return version, nil
}

func word(ctx context.Context, addr, question string) (answer string, err error) {
	err = servers.Ask(ctx, addr, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, question); err != nil {
			return err
		}
		text, err := io.ReadAll(conn)
		answer = string(text)
		return err
	})
	return answer, err
}

func monitor(ctx context.Context, addr string) (map[string]string, error) {
	answer, err := word(ctx, addr, "mntr")
	info := map[string]string{}
	for line := range strings.Lines(answer) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			info[name] = value
		}
	}
	return info, err
}

func leads(ctx context.Context, addr string) (bool, error) {
	info, err := monitor(ctx, addr)
	return info["zk_server_state"] == "leader", err
}

// counted maps the names of ZooKeeper's counters to lockbench's names. The numbers of reads and updates include the
// requests that manage sessions. The counters "woken.*" count the watches that fired. Each watch wakes one client.
var counted = map[string]string{
	"zk_cnt_readlatency": "calls.read", "zk_cnt_updatelatency": "calls.update",
	"zk_sum_node_deleted_watch_count": "woken.deleted", "zk_sum_node_children_watch_count": "woken.children",
	"zk_packets_received": "packets_received", "zk_packets_sent": "packets_sent", "zk_bytes_received_count": "total_net_input_bytes",
}

func counters(ctx context.Context, addr string) (map[string]float64, error) {
	info, err := monitor(ctx, addr)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for theirs, ours := range counted {
		if all[ours], err = strconv.ParseFloat(info[theirs], 64); err != nil {
			return nil, fmt.Errorf("counter %s: %w", theirs, err)
		}
	}
	return all, nil
}

// access returns the operations on a user's ZooKeeper. Each key is a znode under the root. Its children are the znodes
// of the lock's holders and waiters.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "host:2181,host:2181", Port: "2181", Many: true, Database: regexp.MustCompile(`^$`)},
		// The command srvr is enabled by default on every server.
		Version: func(ctx context.Context, _ servers.Target, host string) (string, error) {
			answer, err := word(ctx, host, "srvr")
			line, _, _ := strings.Cut(answer, "\n")
			version, is := strings.CutPrefix(line, "Zookeeper version: ")
			switch {
			case is:
				version, _, _ = strings.Cut(version, "-")
				return strings.TrimSpace(version), nil
			case err != nil:
				return "", err
			}
			return "", errors.New("not a ZooKeeper server")
		},
		Names: func(ctx context.Context, t servers.Target, prefix string) (_ []string, err error) {
			var nodes map[string]string
			err = inSession(ctx, t.Hosts(), func(c *zk.Conn) (err error) {
				nodes, err = queues(c, prefix)
				return err
			})
			if err != nil {
				return nil, err
			}
			return slices.Collect(maps.Values(nodes)), nil
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return inSession(ctx, t.Hosts(), func(c *zk.Conn) error {
				nodes, err := queues(c, prefix)
				for n := range nodes {
					err = errors.Join(err, removeNode(c, "/"+n))
				}
				return err
			})
		},
	}
}

// queues returns a map from znode names to keys, for all keys that begin with the prefix.
func queues(c *zk.Conn, prefix string) (map[string]string, error) {
	nodes, _, err := c.Children("/")
	found := map[string]string{}
	for _, n := range nodes {
		if name, err := url.PathUnescape(n); err == nil && strings.HasPrefix(name, prefix) {
			found[n] = name
		}
	}
	return found, err
}

func removeNode(c *zk.Conn, path string) error {
	children, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	} else if err != nil {
		return err
	}
	for _, child := range children {
		if err := removeNode(c, path+"/"+child); err != nil {
			return err
		}
	}
	if err := c.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return nil
}

func inSession(ctx context.Context, hosts []string, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect(hosts, servers.ReachTimeout, zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		break
	}
	done := make(chan error, 1)
	go func() { done <- do(c) }() // this goroutine ends when the connection is closed
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
