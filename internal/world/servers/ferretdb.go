package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ferretVersion is what go.mod has, which a test holds it against: inside another program it does not know it itself.
const ferretVersion = "1.24.2"

// ferretStore speaks MongoDB's protocol, and keeps its documents in SQLite. It is a Go module, and runs in a process
// of this program's own.
func ferretStore() store {
	return store{
		name: FerretDB, product: "ferretdb",
		durability:  "on disk: SQLite's write-ahead log, with an fsync before each answer",
		missing:     func() error { return nil },
		deployments: []deployment{{Single, 1, "", startFerrets}},
	}
}

// ferretNode is a FerretDB of our own.
type ferretNode struct {
	*local
	self string // this program
}

var _ product = (*ferretNode)(nil)

func startFerrets(ctx context.Context, l launcher, g *Group, nodes int) error {
	if l.self == "" {
		return errors.New("this program is a FerretDB itself, and was not told where it is (Spec.Self)")
	}
	started, err := atOnce(nodes, func(int) (*ferretNode, error) {
		return start(ctx, l, 1, upWithin, func(n *local) (*ferretNode, product) {
			f := &ferretNode{n, l.self}
			return f, f
		})
	})
	for _, n := range started {
		g.add(n, FerretDB, n.version)
	}
	return err
}

func (n *ferretNode) URL() string { return "mongodb://" + n.addr() + "/?directConnection=true" }

func (n *ferretNode) prepare(context.Context) error { return nil }

func (n *ferretNode) command() (*exec.Cmd, error) {
	return exec.Command(n.self, StoreVerb, FerretDB, "--listen", n.addr(), "--dir", n.dir), nil
}

func (n *ferretNode) ask(ctx context.Context) (version string, err error) {
	s, err := n.status(ctx)
	switch {
	case err != nil:
		return "", err
	case s.PID != int64(n.child.Load().Pid()):
		return "", errors.New("another server answers")
	}
	return ferretVersion, nil
}

// ferretStatus is what is of use in the answer to serverStatus.
type ferretStatus struct {
	PID     int64 `bson:"pid"`
	Metrics struct {
		Commands map[string]struct {
			Total int64 `bson:"total"`
		} `bson:"commands"`
	} `bson:"metrics"`
}

func (n *ferretNode) status(ctx context.Context) (ferretStatus, error) {
	answer, err := askMongo(ctx, n.addr(), bson.D{{Key: "serverStatus", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return ferretStatus{}, err
	}
	var s ferretStatus
	if err := bson.Unmarshal(answer, &s); err != nil {
		return ferretStatus{}, fmt.Errorf("its answer to serverStatus: %w", err)
	}
	return s, nil
}

// counters are the commands that it has answered.
func (n *ferretNode) counters(ctx context.Context) (map[string]float64, error) {
	s, err := n.status(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for command, c := range s.Metrics.Commands {
		all["calls."+command] = float64(c.Total)
	}
	return all, nil
}
