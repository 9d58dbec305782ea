package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// errNoMongo: nothing to install has it.
var errNoMongo = errors.New("MongoDB is not in Debian, nor in any registry that lockbench uses")

// mongoStore is never one of our child processes: a FerretDB would not do, since what it does with a findAndModify is not
// the same. It is in a container, or the user's own.
func mongoStore() store {
	return store{
		name: MongoDB, product: "mongodb", provide: "a mongod of your own with --mongodb URI, or --servers docker",
		durability:  "on disk: a replica set of one, whose journal has an fsync before the majority has acknowledged",
		missing:     func() error { return errNoMongo },
		deployments: []deployment{{Single, 1, "", func(context.Context, launcher, *Group, int) error { return errNoMongo }}},
	}
}

// mongoSet is the name of the replica set of one. A server that is in none acknowledges what is in its memory only, also
// where it is asked for a majority.
const mongoSet = "one"

// mongoNode is a MongoDB in a container.
type mongoNode struct{ *local }

var _ product = (*mongoNode)(nil)

func (n *mongoNode) URL() string { return "mongodb://" + n.addr() + "/?directConnection=true" }

func (n *mongoNode) prepare(context.Context) error { return errNoMongo }

func (n *mongoNode) command() (*exec.Cmd, error) { return nil, errNoMongo }

func (n *mongoNode) ask(context.Context) (string, error) { return "", errNoMongo }

// mongoReady makes it a replica set, where it is none yet, and returns nil when it is the primary.
func mongoReady(ctx context.Context, n *local) error {
	hello, err := askMongo(ctx, n.addr(), bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return err
	}
	if writes, _ := hello.Lookup("isWritablePrimary").BooleanOK(); !writes {
		if _, inSet := hello.Lookup("setName").StringValueOK(); !inSet {
			_, err = askMongo(ctx, n.addr(), mongoInitiate())
		}
		return errors.Join(errors.New("it takes no writes yet"), err)
	}
	return nil
}

// mongoInitiate has it know itself by the port that it has in its container, which nobody else asks it for.
func mongoInitiate() bson.D {
	self := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: "localhost:27017"}}
	return bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: mongoSet}, {Key: "members", Value: bson.A{self}}}},
		{Key: "$db", Value: "admin"}}
}

// counters are the commands that it has executed, by name ("calls.findAndModify"), and its bytes.
func (n *mongoNode) counters(ctx context.Context) (map[string]float64, error) {
	answer, err := askMongo(ctx, n.addr(), bson.D{{Key: "serverStatus", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return nil, err
	}
	return mongoCounters(answer)
}

// mongoCounters picks from an answer to serverStatus. How it is asked is left out.
func mongoCounters(answer bson.Raw) (map[string]float64, error) {
	commands, ok := answer.Lookup("metrics", "commands").DocumentOK()
	if !ok {
		return nil, errors.New("it does not tell what it has executed")
	}
	elements, err := commands.Elements()
	if err != nil {
		return nil, fmt.Errorf("its answer to serverStatus: %w", err)
	}
	all := map[string]float64{}
	for _, e := range elements {
		of, ok := e.Value().DocumentOK()
		if !ok || e.Key() == "serverStatus" || e.Key() == "hello" { // what it does not know is a number alone
			continue
		}
		if total, _ := of.Lookup("total").AsInt64OK(); total > 0 { // of hundreds
			all["calls."+e.Key()] = float64(total)
		}
	}
	for theirs, ours := range map[string]string{"bytesIn": "total_net_input_bytes", "bytesOut": "total_net_output_bytes"} {
		if bytes, ok := answer.Lookup("network", theirs).AsInt64OK(); ok {
			all[ours] = float64(bytes)
		}
	}
	return all, nil
}
