package trial

import (
	"context"
	"errors"
	"os"

	"lockbench/impls/worker"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/workers"
	"lockbench/internal/world/children"
	"lockbench/internal/world/servers"
	"lockbench/workloads"
)

// isolated is clients in processes of their own: each with its network, and what the lock guards beside them
// all. A nil one is none.
type isolated struct {
	*world
	keeper  *children.Keeper
	guarded *workers.Guarded
}

// openApart starts a process for each that the clients are spread over, and one for the epilogue.
func (t *trial) openApart(ctx context.Context, asked []string) error {
	register := t.Workload.Register()
	scene := faults.Scene{TTL: t.Params.TTL, Deployment: t.On(), Processes: t.Params.Processes, Seed: t.Params.Seed}
	a := &isolated{world: &world{group: t.group, scene: scene, clients: t.Params.Clients, key: t.storeKey()}}
	t.isolated = a
	var err error
	if a.keeper, err = children.New(); err != nil {
		return err
	}
	if a.guarded, err = workers.Guard(register); err != nil {
		return err
	}
	urls, err := a.connect(asked)
	if err != nil {
		return err
	}
	command := t.Lock.Worker
	if len(command) == 0 {
		command = t.Worker
	}
	for process := range t.Params.Processes + 1 {
		p, err := workers.Start(ctx, a.keeper, command, worker.Open{Lock: t.Lock.Name, Nodes: urls[process], CAFile: t.Remote.CAFile,
			Prefix: servers.KeyPrefix(t.Run), Process: process, Seed: t.Params.Seed, Params: t.LockParams, Resource: a.guarded.URL}, t.watch.Renewed)
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

func (a *isolated) close() error {
	if a == nil {
		return nil
	}
	errs := []error{a.world.close()}
	if a.guarded != nil {
		errs = append(errs, a.guarded.Close())
	}
	if a.keeper != nil {
		errs = append(errs, a.keeper.Close())
	}
	return errors.Join(errs...)
}

func (a *isolated) failed() error {
	if a == nil {
		return nil
	}
	return a.world.failed()
}

func (a *isolated) network() map[string]float64 {
	if a == nil {
		return nil
	}
	return a.world.network()
}

// since is by how much counts rose.
func since(before, after map[string]float64) map[string]float64 {
	for name, n := range before {
		after[name] -= n
	}
	return after
}
