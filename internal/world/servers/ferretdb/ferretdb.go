// Package ferretdb describes how to run FerretDB, a server for MongoDB's protocol that stores data in SQLite. The server
// is part of this program (see package builtin).
package ferretdb

import (
	"context"
	"os/exec"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/mongodb"
)

// version is the version of FerretDB in go.mod. It is a constant, because an embedded FerretDB cannot report its
// version. A test compares it with go.mod.
const version = "1.24.2"

// Store returns the description of FerretDB.
func Store() servers.Store {
	return servers.Store{
		Name: servers.FerretDB, Product: "ferretdb",
		Durability:   "on disk: SQLite's write-ahead log, with an fsync before each answer",
		Deployments:  []servers.Deployment{{Name: servers.Single, Nodes: 1}},
		StartTimeout: 7 * time.Second, RestartTime: 400 * time.Millisecond, Command: command, Ask: ask,
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
