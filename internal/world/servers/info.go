package servers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// askWithin bounds a question to a server that is there but does not answer.
const askWithin = 2 * time.Second

// askInfo asks a Redis server for a section of its INFO, on a connection of its own: a client library
// would add commands of its own to what is counted.
func askInfo(ctx context.Context, addr, section string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // a time long past: give up now
	return infoOn(conn, section)
}

// infoOn asks on a connection that is there.
func infoOn(conn net.Conn, section string) (map[string]string, error) {
	if _, err := fmt.Fprintf(conn, "INFO %s\r\n", section); err != nil {
		return nil, err
	}
	body, err := readBulk(bufio.NewReader(conn))
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	return parseInfo(body), nil
}

// probeKey is written and removed to see that a server takes writes.
const probeKey = "lockbench"

// askAcknowledged returns when so many replicas have acknowledged a write to their primary. For up to a second
// after both call the link up a replica may acknowledge nothing, and a lock that waits for it would be refused.
func askAcknowledged(ctx context.Context, addr, probe string, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := fmt.Fprintf(conn, "SET %[1]s up\r\nDEL %[1]s\r\nWAIT %[2]d %[3]d\r\n", probe, replicas, upWithin.Milliseconds()); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	for _, want := range []string{"+OK", ":1", fmt.Sprintf(":%d", replicas)} {
		reply, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("wait for the replicas to acknowledge: %w", err)
		}
		if reply = strings.TrimSpace(reply); reply != want {
			return fmt.Errorf("wait for the replicas to acknowledge: unexpected reply %q", reply)
		}
	}
	return nil
}

// readBulk reads one bulk reply: $length, a line end, and so many bytes.
func readBulk(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	head = strings.TrimSpace(head)
	digits, isBulk := strings.CutPrefix(head, "$")
	length, err := strconv.ParseUint(digits, 10, 24) // an INFO has some kilobytes
	if err != nil || !isBulk {
		return "", fmt.Errorf("unexpected reply %q", head)
	}
	body := make([]byte, length)
	_, err = io.ReadFull(r, body)
	return string(body), err
}

// parseInfo reads lines of name:value; headings and empty lines have no colon.
func parseInfo(body string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// counters picks from an INFO what tells the cost of a lock: "calls.<command>" for each command that was
// called, by a client or by a script, and the server's totals (CPU in seconds, network in bytes).
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
			// cmdstat_set:calls=3,usec=12,usec_per_call=4.00,rejected_calls=0,failed_calls=0
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
