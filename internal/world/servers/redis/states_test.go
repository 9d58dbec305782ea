package redis

import (
	"strings"
	"testing"

	"lockbench/internal/world/servers"
)

// TestStates checks each state of a real server: what the server refuses, whether it keeps its data, and whether it
// works again afterwards.
func TestStates(t *testing.T) {
	onLinux(t)
	n := startGroup(t, servers.Local, servers.Single).Nodes[0]
	c := client(t, n.URL())
	ctx := t.Context()
	write := func() string {
		if err := c.Set(ctx, "new", "x", 0).Err(); err != nil {
			return strings.Fields(err.Error())[0]
		}
		return ""
	}
	must(t, c.Set(ctx, "k", "kept", 0).Err())
	for state, refusal := range map[servers.State]string{servers.ReadOnly: "READONLY", servers.Full: "OOM"} {
		leave, err := n.Enter(ctx, state)
		must(t, err)
		if got := write(); got != refusal || c.Get(ctx, "k").Val() != "kept" {
			t.Errorf("%s: a write was answered %q, want %s", state, got, refusal)
		}
		must(t, leave())
		if got := write(); got != "" || c.Get(ctx, "k").Val() != "kept" {
			t.Errorf("after %s: a write was answered %q", state, got)
		}
	}
	hash, err := c.ScriptLoad(ctx, "return 7").Result()
	must(t, err)
	if leave, err := n.Enter(ctx, servers.Scriptless); err != nil || leave != nil || c.EvalSha(ctx, hash, nil).Err() == nil {
		t.Errorf("the script was not forgotten: %v", err)
	}
	if leave, err := n.Enter(ctx, servers.Empty); err != nil || leave != nil || has(t, n, "k") {
		t.Errorf("the data was not deleted: %v", err)
	}
	if _, err := n.Enter(ctx, "dancing"); err == nil {
		t.Error("an unknown state was entered")
	}
}
