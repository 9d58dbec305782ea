package redis

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// echo starts a server that sends back all data it receives.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func forward(t *testing.T, addr string) *forwarder {
	t.Helper()
	f, err := newForwarder(addr)
	must(t, err)
	t.Cleanup(func() { must(t, f.link.Close()) })
	return f
}

func dial(t *testing.T, f *forwarder) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", f.link.Addr())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn
}

func TestForwarderForwardsAnyBytes(t *testing.T) {
	f := forward(t, echo(t))
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	for name, text := range map[string]string{
		"noise": string(noise), "a command": "*1\r\n$4\r\nPING\r\n", "inline": "PING\r\n", "nothing": "\r\n", "a long line": strings.Repeat("x", 1<<16) + "\n",
		"half a command": "*3\r\n$8\r\nREPLCONF\r\n$14\r\nlist", "too many words": "*99999999\r\n", "a huge word": "*1\r\n$99999999999\r\nx", "less than none": "*-1\r\n$-1\r\n",
		"a replica": "*3\r\n$8\r\nREPLCONF\r\n$14\r\nlistening-port\r\n$4\r\n6379\r\n" + string(noise[:1000]),
	} {
		conn := dial(t, f)
		go func() { _, _ = conn.Write([]byte(text)) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%s: the echo differs (%v)", name, err)
		}
	}
}

func TestForwarderStallsOneFollower(t *testing.T) {
	f := forward(t, echo(t))
	follow := func(port string) *bufio.ReadWriter {
		conn := dial(t, f)
		for _, b := range []byte("*3\r\n$8\r\nreplconf\r\n$14\r\nlistening-port\r\n$4\r\n" + port + "\r\n") {
			_, err := conn.Write([]byte{b}) // send the port announcement one byte at a time
			must(t, err)
		}
		return bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
	}
	says := func(rw *bufio.ReadWriter, line string) bool {
		_, _ = rw.WriteString(line + "\n")
		_ = rw.Flush()
		for {
			got, err := rw.ReadString('\n')
			if err != nil {
				return false
			}
			if got == line+"\n" {
				return true
			}
		}
	}
	stalled, other := follow("1111"), follow("2222")
	if !says(stalled, "before") || !says(other, "before") {
		t.Fatal("nothing was passed on")
	}
	if err := f.stall("3333"); err == nil {
		t.Error("stall of a replica that does not exist succeeded")
	}
	must(t, f.stall("1111"))
	late := follow("1111")
	if !says(other, "after") {
		t.Error("the other replica is stalled too")
	}
	watcher := dial(t, f)
	if !says(bufio.NewReadWriter(bufio.NewReader(watcher), bufio.NewWriter(watcher)), "after") {
		t.Error("a Sentinel is stalled too")
	}
	go func() { time.Sleep(100 * time.Millisecond); _ = f.link.Close() }() // closing the proxy ends the reads from stalled connections
	for name, rw := range map[string]*bufio.ReadWriter{"stalled": stalled, "stalled later": late} {
		if says(rw, "after") {
			t.Errorf("the %s replica receives data", name)
		}
	}
}

func TestForwarderWithoutServer(t *testing.T) {
	f := forward(t, "127.0.0.1:1")
	if n, err := dial(t, f).Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("an answer without a server: %d, %v", n, err)
	}
}

func TestForwarderEndsWithEitherSide(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	f := forward(t, l.Addr().String())
	outer := dial(t, f)
	inner, err := l.Accept()
	must(t, err)
	inner.Close()
	if _, err := outer.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlived its node")
	}
	waitUntil(t, "the connection is closed", func() bool { return !f.link.DropReplies(1) })
}
