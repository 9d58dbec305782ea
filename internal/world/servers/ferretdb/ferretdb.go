// Package ferretdb describes FerretDB: MongoDB's protocol over SQLite, as a Go module in a process of this program's.
package ferretdb

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/world/servers"
	"lockbench/internal/world/servers/mongodb"
)

// version is what go.mod has, which a test holds it against: inside another program it does not know it itself.
const version = "1.24.2"

// Store describes it.
func Store() servers.Store {
	return servers.Store{
		Name: servers.FerretDB, Product: "ferretdb",
		Durability:  "on disk: SQLite's write-ahead log, with an fsync before each answer",
		Deployments: []servers.Deployment{{Name: servers.Single, Nodes: 1}},
		Within:      7 * time.Second, Command: command, Ask: ask,
		URL: mongodb.URL, Counters: mongodb.Counters,
	}
}

func command(p *servers.Process) (*exec.Cmd, error) {
	return p.SelfAs(servers.FerretDB, "--listen", p.Addr(), "--dir", p.Dir)
}

func ask(ctx context.Context, p *servers.Process) (string, error) {
	status, err := mongodb.Ask(ctx, p.Addr(), bson.D{{Key: "serverStatus", Value: 1}})
	if err != nil {
		return "", err
	}
	if pid, _ := status.Lookup("pid").AsInt64OK(); pid != int64(p.Pid()) {
		return "", errors.New("another server answers")
	}
	return version, nil
}
