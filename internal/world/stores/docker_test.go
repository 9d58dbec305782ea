package stores

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/world/servers"
)

// needDocker starts a Docker daemon with an image made from this machine's redis-server. If the daemon cannot start, the
// test is skipped. If LOCKBENCH_REQUIRE names docker, the test fails instead.
func needDocker(t *testing.T) {
	t.Helper()
	needStore(t, servers.Redis, "redis-server")
	if why := startDaemon(t); why != "" {
		needed(t, why)
	}
	importRedis(t)
}

// needed skips the test. If LOCKBENCH_REQUIRE names docker, it fails the test instead.
func needed(t *testing.T, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), "docker") {
		t.Fatal(why)
	}
	t.Skip(why)
}

// startDaemon starts dockerd. It returns the reason why dockerd cannot start, or "".
func startDaemon(t *testing.T) string {
	for _, program := range []string{"dockerd", "docker", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not on the PATH: apt install docker.io iproute2"
		}
	}
	if os.Geteuid() != 0 {
		return "starting dockerd needs root"
	}
	dir, err := os.MkdirTemp("", "lb-docker") // the path of t.TempDir is too long for a socket
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	_, err = net.InterfaceByName("docker0")
	bridged := err == nil
	var said bytes.Buffer
	daemon := exec.Command("dockerd", "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "-H", "unix://"+filepath.Join(dir, "sock"), "--iptables=false", "--ip6tables=false")
	daemon.Stdout, daemon.Stderr = &said, &said
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, daemon.Start())
	ended := make(chan struct{})
	go func() { _ = daemon.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-daemon.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if !bridged {
			_ = exec.Command("ip", "link", "delete", "docker0").Run()
		}
	})
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "sock"))
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			return fmt.Sprintf("dockerd does not start here: %.1000s", said.Bytes()[max(0, said.Len()-1000):])
		default:
		}
		if exec.Command("docker", "info").Run() == nil {
			return ""
		}
	}
	return "dockerd does not answer here"
}

// importRedis makes an image from this machine's redis-server.
func importRedis(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	must(t, err)
	importImage(t, servers.Redis, []string{program}, "", "ENV PATH="+filepath.Dir(program))
}

func TestDocker(t *testing.T) {
	needDocker(t)
	t.Run("single", func(t *testing.T) {
		g := startGroup(t, servers.Docker, servers.Single)
		n := g.Nodes[0]
		if !strings.Contains(g.Server, "docker") || !strings.HasPrefix(n.URL(), "redis://127.0.0.1:") {
			t.Errorf("%s at %s", g.Server, n.URL())
		}
		must(t, client(t, n.URL()).Set(t.Context(), "key", "value", 0).Err())
		count, err := n.Counters(t.Context())
		must(t, err)
		if count["calls.set"] != 1 {
			t.Errorf("%v", count)
		}
		must(t, n.Pause())
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := n.Counters(short); err == nil {
			t.Error("it answers during a pause")
		}
		must(t, n.Resume())
		must(t, n.Restart(t.Context()))
		if has(t, n, "key") {
			t.Error("it kept its key without persistence")
		}
		must(t, n.Kill())
		if n.Alive() || listens(t, n.URL()) {
			t.Error("it is alive after Kill")
		}
		if err := n.MoveClock(t.Context(), time.Second); err == nil {
			t.Error("MoveClock succeeded")
		}
	})
	t.Run("durable", func(t *testing.T) {
		n := startGroup(t, servers.Docker, servers.Durable).Nodes[0]
		must(t, client(t, n.URL()).Set(t.Context(), "key", "value", 0).Err())
		must(t, n.Restart(t.Context()))
		if !has(t, n, "key") {
			t.Error("it lost a key that was on disk")
		}
	})
	t.Run("left", func(t *testing.T) {
		g := startGroup(t, servers.Docker, servers.Single)
		left, err := servers.Containers(t.Context())
		must(t, err)
		if len(left) != 1 || left[0].Owner != os.Getpid() {
			t.Fatalf("%+v", left)
		}
		must(t, left[0].Remove(t.Context()))
		must(t, g.Stop()) // Stop must succeed although the container no longer exists
	})
	t.Run("stores", dockerStores)
	if left, err := servers.Containers(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("containers left: %+v, %v", left, err)
	}
	if _, err := Start(t.Context(), servers.Spec{How: servers.Docker, Store: servers.Redis, Deployment: servers.Sentinel}); err == nil {
		t.Error("Sentinels started in containers")
	}
}
