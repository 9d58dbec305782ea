// Package mongodb describes MongoDB.
package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/world/servers"
)

// replicaSet is the name of the replica set of one. A server that is in none acknowledges what is in its memory only, even
// if it is asked for a majority.
const replicaSet = "one"

// Store describes it. It is never one of our child processes: a FerretDB would not do, since what it does with a
// findAndModify is not the same. It is in a container, or the user's own.
func Store() servers.Store {
	return servers.Store{
		Name: servers.MongoDB, Product: "mongodb", Provide: "a mongod of your own with --mongodb URI, or --servers docker",
		Durability: "on disk: a replica set of one, whose journal has an fsync before the majority has acknowledged",
		Missing: func() error {
			return errors.New("MongoDB is not in Debian, nor in any registry that lockbench uses")
		},
		Deployments: []servers.Deployment{{Name: servers.Single, Nodes: 1, Contained: true}},
		URL:         URL, Counters: Counters,
		Image: servers.Image{Name: "mongo:7.0.24", Port: "27017", Variable: "LOCKBENCH_MONGODB_IMAGE",
			Command: []string{"mongod", "--replSet", replicaSet, "--bind_ip_all"}, Ready: ready},
		External: access(),
	}
}

// URL returns the address of a server of ours.
func URL(addr string) string { return "mongodb://" + addr + "/?directConnection=true" }

// ready makes it a replica set, unless it is one, and returns nil when it is the primary.
func ready(ctx context.Context, addr string) error {
	hello, err := Ask(ctx, addr, bson.D{{Key: "hello", Value: 1}})
	if err != nil {
		return err
	}
	if writes, _ := hello.Lookup("isWritablePrimary").BooleanOK(); !writes {
		if _, inSet := hello.Lookup("setName").StringValueOK(); !inSet {
			_, err = Ask(ctx, addr, initiate())
		}
		return errors.Join(errors.New("it takes no writes yet"), err)
	}
	return nil
}

// initiate has it know itself by the port that it has in its container, which nobody else asks it for.
func initiate() bson.D {
	self := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: "localhost:27017"}}
	return bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: replicaSet}, {Key: "members", Value: bson.A{self}}}}}
}

// Counters returns the commands that a server of ours has executed, by name ("calls.findAndModify"), and its bytes.
func Counters(ctx context.Context, addr string) (map[string]float64, error) {
	answer, err := Ask(ctx, addr, bson.D{{Key: "serverStatus", Value: 1}})
	if err != nil {
		return nil, err
	}
	return counted(answer)
}

// counted picks from an answer to serverStatus. How it is asked is left out.
func counted(answer bson.Raw) (map[string]float64, error) {
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
