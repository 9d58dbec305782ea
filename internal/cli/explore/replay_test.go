package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/internal/cli/console"
	"lockbench/internal/world/children"
)

// again is the environment variable with which the test program is onOneAgain.
const again = "LOCKBENCH_TEST_ON_ONE"

func TestMain(m *testing.M) {
	if os.Getenv(again) != "" {
		onOneAgain()
	}
	os.Exit(m.Run())
}

// TestOnOneProcessor: a program on three processors starts itself again on one; what it says and its exit code are handed on.
func TestOnOneProcessor(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command(self, "a", "b")
	program.Env = append(os.Environ(), again+"=1", "GOMAXPROCS=3")
	said, _ := program.CombinedOutput()
	want := "1 processor, asked for [\"a\" \"b\"]\nthen GOMAXPROCS=\"\"\n"
	if code := program.ProcessState.ExitCode(); code != 7 || string(said) != want {
		t.Errorf("exit code %d, said %q", code, said)
	}
}

// TestReplayCodes: 0 is for what showed everywhere it was asked to.
func TestReplayCodes(t *testing.T) {
	shows, silent := simulated{Shows: true}, simulated{}
	for _, c := range []struct {
		simulation simulated
		servers    *onServers
		want       int
	}{
		{shows, nil, 0}, {silent, nil, console.ExitBroken}, {shows, &onServers{Shows: true}, 0}, {shows, &onServers{}, console.ExitUndecided},
		{silent, &onServers{}, console.ExitBroken}, {silent, &onServers{Shows: true}, console.ExitBroken}, {shows, &onServers{Shows: true, disagree: true}, console.ExitInternal},
		{simulated{Shows: true, disagree: true}, nil, console.ExitInternal},
	} {
		got := 0
		var e *console.Exit
		if err := (replayed{Simulation: c.simulation, Servers: c.servers}).codes().Err(); errors.As(err, &e) {
			got = e.Code
		}
		if got != c.want {
			t.Errorf("%+v, %+v: exit code %d, want %d", c.simulation, c.servers, got, c.want)
		}
	}
}

// TestServersSaid: what was not seen is not said to hold.
func TestServersSaid(t *testing.T) {
	for want, s := range map[string]onServers{
		"on redis 7: fencing violated in trial 2 of 5\n  who held\n  history: h\n":                                                 {Server: "redis 7", Shows: true, Trials: 2, Of: 5, Story: "who held", History: "h"},
		"on redis 7: fencing not seen to be violated in 5 trials\n  in 3 of them not all of the plan came about\n  histories: d\n": {Server: "redis 7", Trials: 5, Of: 5, Missed: 3, Folder: "d"},
		"on real servers: fencing not seen to be violated in 0 trials, and no more were made: void\n":                              {Of: 5, GaveUp: "void"},
	} {
		var said strings.Builder
		s.print(&said, "fencing")
		if said.String() != want {
			t.Errorf("got  %q\nwant %q", said.String(), want)
		}
	}
}

// TestInterruptIsHandedOn: a program that was started again hears of an interrupt, and is waited for.
func TestInterruptIsHandedOn(t *testing.T) {
	keeper, err := children.New()
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	folder := t.TempDir()
	again := exec.Command("/bin/sh", "-c", `trap 'echo heard >heard; exit 7' INT; echo up >up; while :; do sleep 0.05; done`)
	again.Dir = folder
	child, err := keeper.Start(again)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(folder, "up")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not come up")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := await(ctx, child, again); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "heard")); errors.Is(err, os.ErrNotExist) || again.ProcessState.ExitCode() != 7 {
		t.Errorf("it ended with %s, and %v", child.State(), err)
	}
}

// onOneAgain is a program that starts itself again on one processor, and ends with 7.
func onOneAgain() {
	done, err := onOneProcessor(context.Background(), os.Stdout, os.Stderr)
	if done {
		os.Exit(console.Report(os.Stderr, err))
	}
	fmt.Printf("%d processor, asked for %q\n", runtime.GOMAXPROCS(0), os.Args[1:])
	onAllProcessors()
	fmt.Printf("then GOMAXPROCS=%q\n", os.Getenv("GOMAXPROCS"))
	os.Exit(7)
}
