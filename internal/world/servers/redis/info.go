package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"lockbench/internal/world/servers"
)

func askInfo(ctx context.Context, addr, section string) (info map[string]string, err error) {
	err = servers.Ask(ctx, addr, func(conn net.Conn) error {
		if _, err := fmt.Fprintf(conn, "INFO %s\r\n", section); err != nil {
			return err
		}
		body, err := readBulk(bufio.NewReader(conn))
		if err != nil {
			return fmt.Errorf("INFO %s: %w", section, err)
		}
		info = parseInfo(body)
		return nil
	})
	return info, err
}

const probeKey = "lockbench"

// awaitAcknowledged returns when the replicas have acknowledged a write. After the connection to the primary is up, a
// replica may acknowledge nothing for a second. Without this wait, locks that use WAIT would fail at first.
func (n *node) awaitAcknowledged(ctx context.Context, probe string, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return withClient(n.Addr(), func(c *redis.Client) error {
		if err := takesWrites(ctx, c, probe); err != nil {
			return err
		}
		acknowledged, err := c.Wait(ctx, replicas, startTimeout).Result()
		if err == nil && int(acknowledged) < replicas {
			err = fmt.Errorf("%d of %d did", acknowledged, replicas)
		}
		if err != nil {
			return fmt.Errorf("wait for the replicas to acknowledge: %w", err)
		}
		return nil
	})
}

func readBulk(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	head = strings.TrimSpace(head)
	digits, isBulk := strings.CutPrefix(head, "$")
	length, err := strconv.ParseUint(digits, 10, 24) // length of the reply; an INFO reply has a few kilobytes
	if err != nil || !isBulk {
		return "", fmt.Errorf("unexpected reply %q", head)
	}
	body := make([]byte, length)
	_, err = io.ReadFull(r, body)
	return string(body), err
}

// parseInfo parses lines of the form name:value. It skips other lines, such as headings.
func parseInfo(body string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// counters returns the counters in an INFO reply. The counter "calls.<command>" is the number of calls by clients and
// scripts. The other counters are the CPU time in seconds and the network traffic in bytes.
func counters(info map[string]string) (map[string]float64, error) {
	all := map[string]float64{}
	for name, value := range info {
		switch name {
		case "used_cpu_user", "used_cpu_sys", "total_net_input_bytes", "total_net_output_bytes",
			"total_commands_processed":
		default:
			command, ok := strings.CutPrefix(name, "cmdstat_")
			if !ok {
				continue
			}
			// Example: cmdstat_set:calls=3,usec=12,usec_per_call=4.00,rejected_calls=0,failed_calls=0
			first, _, _ := strings.Cut(value, ",")
			name, value = "calls."+command, strings.TrimPrefix(first, "calls=")
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("counter %s: %w", name, err)
		}
		all[name] = number
	}
	return all, nil
}

// emulator is the name and version of the emulator. A test compares the version with go.mod.
const emulator = "miniredis 2.40.0 (embedded emulator)"

const closeTimeout = 5 * time.Second

type embedded struct {
	servers.Refusing
	server *miniredis.Miniredis
	ended  atomic.Bool
}

var _ servers.Node = (*embedded)(nil)

func emulate() (servers.Node, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // expire keys in real time
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, err
	}
	return &embedded{Refusing: servers.Refusing{Shown: "redis://" + m.Addr()}, server: m}, nil
}

func (n *embedded) URL() string { return n.Shown }

func (n *embedded) Alive() bool { return !n.ended.Load() }

func (n *embedded) Counters(context.Context) (map[string]float64, error) {
	return nil, fmt.Errorf("%s: %w", emulator, servers.ErrNoCounters)
}

func (n *embedded) Kill() error { return n.Stop() }

// Stop waits only for a limited time, because a handler that is blocked in a command may never return.
func (n *embedded) Stop() error {
	n.ended.Store(true)
	closed := make(chan struct{})
	go func() { n.server.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-time.After(closeTimeout):
		return fmt.Errorf("%s did not close within %v", n.Shown, closeTimeout)
	}
}
