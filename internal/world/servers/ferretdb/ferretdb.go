// Package ferretdb describes FerretDB, MongoDB's protocol over SQLite. The server runs this program: see package builtin.
package ferretdb

import (
	"context"
	"os/exec"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/mongodb"
)

// version is the version in go.mod, as a test checks. FerretDB does not know its version inside another program.
const version = "1.24.2"

// Store returns the description of FerretDB.
func Store() servers.Store {
	return servers.Store{
		Name: servers.FerretDB, Product: "ferretdb",
		Durability:   "on disk: SQLite's write-ahead log, with an fsync before each answer",
		Deployments:  []servers.Deployment{{Name: servers.Single, Nodes: 1}},
		StartTimeout: 7 * time.Second, Command: command, Ask: ask,
		URL: mongodb.URL, Counters: mongodb.Counters,
	}
}

func command(p *servers.Process) (*exec.Cmd, error) {
	return p.SelfCommand(servers.FerretDB, "--listen", p.Addr(), "--dir", p.Dir)
}

func ask(ctx context.Context, p *servers.Process) (string, error) {
	status, err := mongodb.Ask(ctx, p.Addr(), bson.D{{Key: "serverStatus", Value: 1}})
	if err != nil {
		return "", err
	}
	if pid, _ := status.Lookup("pid").AsInt64OK(); pid != int64(p.Pid()) {
		return "", servers.ErrOtherServer
	}
	return version, nil
}
