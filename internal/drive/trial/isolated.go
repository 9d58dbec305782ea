package trial

import (
	"context"
	"os"

	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// openApart starts a process for each that the clients are spread over, and one for the epilogue.
func (t *trial) openApart(ctx context.Context, asked []string) error {
	register := t.Workload.Register()
	scene := faults.Scene{TTL: t.Params.TTL, Deployment: t.On(), Processes: t.Params.Processes, Seed: t.Params.Seed}
	a := &world{group: t.group, scene: scene, clients: t.Params.Clients, key: t.storeKey()}
	t.world = a
	keeper, err := children.New()
	if err != nil {
		return err
	}
	t.later(keeper.Close)
	guarded, err := workers.Guard(register)
	if err != nil {
		return err
	}
	t.later(guarded.Close)
	t.later(a.disconnect)
	urls, err := a.connect(asked)
	if err != nil {
		return err
	}
	t.later(func() error {
		return servers.Each(len(a.processes), func(i int) error { return a.processes[i].Close() })
	})
	command := t.Lock.Worker
	if len(command) == 0 {
		command = t.Worker
	}
	for process := range t.Params.Processes + 1 {
		p, err := workers.Start(ctx, keeper, command, worker.Open{Lock: t.Lock.Name, Nodes: urls[process], CAFile: t.Remote.CAFile,
			Prefix: servers.KeyPrefix(t.Run), Process: process, Seed: t.Params.Seed, Params: t.LockParams, Resource: guarded.URL}, t.watch.Renewed)
		if err != nil {
			return err
		}
		a.processes = append(a.processes, p)
		t.opened(workloads.Process{Lock: p.Lock(), Resource: p, Running: p.Running})
	}
	t.fresh.Resource = register // the harness reads and writes what is guarded itself
	return nil
}

// OwnWorker is the command that runs a lock of the table in a process of its own: this program again.
func OwnWorker() ([]string, error) {
	self, err := os.Executable()
	return []string{self, "worker"}, err
}

func since(before, after map[string]float64) map[string]float64 {
	for name, n := range before {
		after[name] -= n
	}
	return after
}
