package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// double is a handler that returns twice the number in the body.
func double(_ context.Context, body json.RawMessage) (any, error) {
	var n int
	err := json.Unmarshal(body, &n)
	return 2 * n, err
}

func open(t *testing.T, o Options) *Coordinator {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "nats://" + l.Addr().String()
}

// all runs the tasks from 1 to n and returns the sum of their results.
func all(t *testing.T, c *Coordinator, n int) int {
	t.Helper()
	var sum atomic.Int64
	var work sync.WaitGroup
	for i := 1; i <= n; i++ {
		done, err := c.Turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer done()
			got, err := Do[int](t.Context(), c, "double", fmt.Sprint(i), i, time.Minute)
			if err != nil {
				t.Errorf("task %d: %v", i, err)
			}
			sum.Add(int64(got))
		})
	}
	work.Wait()
	return int(sum.Load())
}

// TestAlone checks that a coordinator runs its tasks without another process, never more at once than it has slots, and leaves
// no file.
func TestAlone(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	dir := t.TempDir()
	c := open(t, Options{Dir: dir, Identity: "test", Slots: 3, Handlers: Handlers{"double": func(ctx context.Context, body json.RawMessage) (any, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(5 * time.Millisecond)
		return double(ctx, body)
	}}})
	if got := all(t, c, 40); got != 40*41 {
		t.Errorf("the sum is %d, want %d", got, 40*41)
	}
	if most.Load() > 3 || most.Load() < 2 {
		t.Errorf("%d tasks ran at once, with 3 slots", most.Load())
	}
	if err := c.Close(true); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s was left", left[0].Name())
	}
}

// TestErrors checks that the error of a handler, of an unknown kind and of a cancelled task is returned.
func TestErrors(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	c := open(t, Options{Slots: 2, Handlers: Handlers{
		"refuse": func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("refused") },
		"sleep": func(context.Context, json.RawMessage) (any, error) {
			time.Sleep(100 * time.Millisecond)
			return 1, nil
		},
		"wait": func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			close(stopped)
			return nil, ctx.Err()
		},
	}})
	for _, x := range []struct{ kind, want string }{{"refuse", "refused"}, {"unknown", "does not run tasks of the kind unknown"}} {
		if _, err := Do[int](t.Context(), c, x.kind, x.kind, 1, time.Minute); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.kind, err, x.want)
		}
	}
	twice := make(chan error, 2)
	for range 2 {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := Do[int](ctx, c, "sleep", "the same", 1, time.Minute)
			twice <- err
		}()
	}
	if err := errors.Join(<-twice, <-twice); err == nil || !strings.Contains(err.Error(), "two tasks have the key") {
		t.Errorf("two tasks with one key: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Do[int](ctx, c, "wait", "wait", 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled task: %v", err)
	}
	if err := c.Close(false); err != nil {
		t.Error(err)
	}
	select {
	case <-stopped:
	default:
		t.Error("the end of the campaign did not stop its task")
	}
}

// agent starts an agent in this process. Its build is that of the test program, as the coordinator's.
func agent(t *testing.T, address string, handlers Handlers) *Agent {
	t.Helper()
	a, err := Join(t.Context(), Address{URL: address}, Offer{Slots: 1, Tasks: handlers})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAgents checks that agents share the tasks, and that the tasks of an agent that leaves are given to another one.
func TestAgents(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := open(t, Options{Listen: Listen{URL: address}})
	var ran [2]atomic.Int64
	handlers := func(i int) Handlers {
		return Handlers{"double": func(ctx context.Context, body json.RawMessage) (any, error) {
			ran[i].Add(1)
			select {
			case <-time.After(20 * time.Millisecond):
				return double(ctx, body)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
	}
	first, second := agent(t, address, handlers(0)), agent(t, address, handlers(1))
	defer second.Close()
	go func() {
		for ran[0].Load() < 10 {
			time.Sleep(time.Millisecond)
		}
		first.Close()
	}()
	if got := all(t, c, 60); got != 60*61 {
		t.Errorf("the sum is %d, want %d", got, 60*61)
	}
	if ran[0].Load() < 10 || ran[1].Load() < 10 {
		t.Errorf("the agents ran %d and %d tasks", ran[0].Load(), ran[1].Load())
	}
	if err := c.Close(true); err != nil {
		t.Error(err)
	}
}

// TestResume checks that a coordinator goes on where an earlier one ended, that it runs no task again, and that it refuses the
// results of another campaign. The last line of the journal is cut off, as after a kill.
func TestResume(t *testing.T) {
	t.Parallel()
	dir, ran := t.TempDir(), map[string]int{}
	var mu sync.Mutex
	o := Options{Dir: dir, Identity: "test", Slots: 1, Handlers: Handlers{"double": func(ctx context.Context, body json.RawMessage) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[string(body)]++
		return double(ctx, body)
	}}}
	c := open(t, o)
	all(t, c, 10)
	if err := c.Close(false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JournalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	o.Resume = true
	c = open(t, o)
	if got := all(t, c, 12); got != 12*13 {
		t.Errorf("the sum is %d, want %d", got, 12*13)
	}
	again := 0
	for _, n := range ran {
		again += n - 1
	}
	if again != 1 || len(ran) != 12 {
		t.Errorf("%d tasks ran again, of %d; want only the one whose line was cut off", again, len(ran))
	}
	if err := c.Close(false); err != nil {
		t.Fatal(err)
	}
	o.Identity = "another"
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrOtherCampaign) {
		t.Errorf("another campaign: %v", err)
	}
}

// TestSilence checks that an agent stops the tasks of a coordinator that sends no more heartbeats.
func TestSilence(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c := open(t, Options{Listen: Listen{URL: address}})
	began, stopped := make(chan struct{}), make(chan struct{})
	a := agent(t, address, Handlers{"wait": func(ctx context.Context, _ json.RawMessage) (any, error) {
		close(began)
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	}})
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = Do[int](ctx, c, "wait", "wait", 1, time.Minute) }()
	<-began
	c.stop() // as if the coordinator was killed
	c.beats.Wait()
	select {
	case <-stopped:
	case <-time.After(4 * campaignLease):
		t.Error("the task went on")
	}
	cancel()
	if err := c.Close(false); err != nil {
		t.Error(err)
	}
}

// TestSecure checks that a coordinator off this machine is reached with its join.json only, over an encrypted connection.
func TestSecure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := Listen{URL: strings.Replace(freeAddress(t), "nats:", "tls:", 1)}
	if err := l.Secure(dir); err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Dir: dir, Listen: l})
	defer c.Close(false)
	invited, err := Invited(filepath.Join(dir, JoinName))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Join(t.Context(), invited, Offer{Slots: 1, Tasks: Handlers{"double": double}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if got := all(t, c, 3); got != 12 {
		t.Errorf("the sum is %d, want 12", got)
	}
	if info, err := os.Stat(filepath.Join(dir, JoinName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read %s: %v %v", JoinName, info.Mode(), err)
	}
	for name, wrong := range map[string]Address{
		"without the certificate": {URL: l.URL, token: invited.token},
		"without the token":       {URL: l.URL, certificates: invited.certificates},
	} {
		if conn, err := wrong.connect(name); err == nil {
			conn.Close()
			t.Errorf("connected %s", name)
		} else if strings.Contains(err.Error(), invited.token) {
			t.Errorf("%s: the error has the token: %v", name, err)
		}
	}
	again := Listen{URL: l.URL}
	if err := again.Secure(dir); err != nil || again.token != l.token {
		t.Errorf("a resumed campaign has another token: %v", err)
	}
	if err := c.Close(true); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("secrets are left: %q", left)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		url  string
		fits bool
	}{
		{"nats://127.0.0.1:4222", true}, {"nats://localhost:4222", true}, {"nats://[::1]:4222", true}, {"tls://10.0.0.1:4222", true},
		{"nats://10.0.0.1:4222", false}, {"nats://queue.example:4222", false}, {"http://127.0.0.1:4222", false}, {"127.0.0.1:4222", false},
		{"nats://127.0.0.1:4222,nats://10.0.0.1:4222", false}, {"", false},
	} {
		if err := (Address{URL: x.url}).Check(); (err == nil) != x.fits {
			t.Errorf("%s: %v", x.url, err)
		}
	}
	secret := Address{URL: "tls://user:secret@10.0.0.1:4222,tls://token@10.0.0.2:4222"}
	if s := secret.String(); strings.Contains(s, "secret") || strings.Contains(s, "token") || !strings.Contains(s, "10.0.0.1") {
		t.Errorf("the address prints as %s", s)
	}
}

// FuzzUnpack checks that arbitrary bytes are decoded or refused.
func FuzzUnpack(f *testing.F) {
	good, err := pack(task{"c", "k", "double", json.RawMessage("1"), time.Second}, mostPayload)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		var got task
		if unpack(packed, &got) != nil {
			return
		}
		again, err := pack(got, mostPayload)
		if err != nil {
			t.Fatal(err)
		}
		var same task
		if err := unpack(again, &same); err != nil || same.Key != got.Key || same.Limit != got.Limit {
			t.Errorf("%+v became %+v: %v", got, same, err)
		}
	})
}
