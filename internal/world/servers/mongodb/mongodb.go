// Package mongodb describes how to run MongoDB in a container, and how to use a user's MongoDB.
package mongodb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"lockbench/internal/world/servers"
)

// replicaSet is the name of the replica set, which has one member. Without a replica set, a server acknowledges a write
// before it is on disk, even with write concern majority.
const replicaSet = "one"

// Store returns the description of MongoDB. The store supports containers and a user's servers, but no child processes.
// FerretDB is no substitute, because its findAndModify behaves differently.
func Store() servers.Store {
	return servers.Store{
		Name: servers.MongoDB, Product: "mongodb", Provide: "--mongodb URI for your own server, or --servers docker",
		Durability: "on disk: a replica set of one, with an fsync of the journal before each answer",
		Missing: func() error {
			return errors.New("MongoDB has no Debian package")
		},
		Deployments: []servers.Deployment{{Name: servers.Single, Nodes: 1, Contained: true}},
		URL:         URL, Counters: Counters,
		Image: servers.Image{Name: "mongo:7.0.24", Port: "27017", Variable: "LOCKBENCH_MONGODB_IMAGE",
			Command: []string{"mongod", "--replSet", replicaSet, "--bind_ip_all"}, Ready: ready},
		External: access(),
	}
}

// URL returns the URL of a server at the address addr, which is host:port.
func URL(addr string) string { return "mongodb://" + addr + "/?directConnection=true" }

// ready creates the replica set if it does not exist. It returns nil once the server is the primary.
func ready(ctx context.Context, addr string) error {
	hello, err := Ask(ctx, addr, bson.D{{Key: "hello", Value: 1}})
	if err != nil {
		return err
	}
	if writes, _ := hello.Lookup("isWritablePrimary").BooleanOK(); !writes {
		if _, inSet := hello.Lookup("setName").StringValueOK(); !inSet {
			_, err = Ask(ctx, addr, initiate())
		}
		return errors.Join(errors.New("it accepts no writes yet"), err)
	}
	return nil
}

// initiate returns the command that creates a replica set with one member. The member's address is valid only inside the
// container. No client uses it.
func initiate() bson.D {
	self := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: "localhost:27017"}}
	return bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: replicaSet}, {Key: "members", Value: bson.A{self}}}}}
}

// Counters returns counters of the server at addr (host:port). They are the number of commands by name, such as
// "calls.findAndModify", and the number of bytes received and sent.
func Counters(ctx context.Context, addr string) (map[string]float64, error) {
	answer, err := Ask(ctx, addr, bson.D{{Key: "serverStatus", Value: 1}})
	if err != nil {
		return nil, err
	}
	return counted(answer)
}

// counted returns the counters in a reply to serverStatus. It omits the commands serverStatus and hello.
func counted(answer bson.Raw) (map[string]float64, error) {
	commands, ok := answer.Lookup("metrics", "commands").DocumentOK()
	if !ok {
		return nil, errors.New("serverStatus has no metrics.commands")
	}
	elements, err := commands.Elements()
	if err != nil {
		return nil, fmt.Errorf("parse serverStatus: %w", err)
	}
	all := map[string]float64{}
	for _, e := range elements {
		of, ok := e.Value().DocumentOK()
		if !ok || e.Key() == "serverStatus" || e.Key() == "hello" { // skip values that are not commands, and omitted commands
			continue
		}
		if total, _ := of.Lookup("total").AsInt64OK(); total > 0 { // skip commands that were never called
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

const longestAnswer = 1 << 20

// Ask runs one command on the admin database of a server that speaks MongoDB's protocol, and returns the reply.
func Ask(ctx context.Context, addr string, command bson.D) (answer bson.Raw, err error) {
	body, err := bson.Marshal(append(command, bson.E{Key: "$db", Value: "admin"}))
	if err != nil {
		return nil, err
	}
	_, message := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), 0, wiremessage.OpMsg)
	message = wiremessage.AppendMsgFlags(message, 0)
	message = wiremessage.AppendMsgSectionType(message, wiremessage.SingleDocument)
	message = append(message, body...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	err = servers.Ask(ctx, addr, func(conn net.Conn) error {
		if _, err := conn.Write(message); err != nil {
			return err
		}
		answer, err = read(conn)
		return err
	})
	return answer, err
}

// read returns the next reply of the server. It returns an error if the command failed.
func read(conn io.Reader) (bson.Raw, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(conn, size); err != nil {
		return nil, err
	}
	const head = 16 + 4 + 1 // length of the message header, the flags and the section kind
	length := binary.LittleEndian.Uint32(size)
	if length < head || length > longestAnswer {
		return nil, errors.New("invalid answer")
	}
	rest := make([]byte, length-4)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return nil, err
	}
	answer := bson.Raw(rest[head-4:])
	if err := answer.Validate(); err != nil {
		return nil, fmt.Errorf("invalid answer: %w", err)
	}
	if ok, _ := answer.Lookup("ok").AsFloat64OK(); ok != 1 {
		text, _ := answer.Lookup("errmsg").StringValueOK()
		return nil, fmt.Errorf("command failed: %s", text)
	}
	return answer, nil
}

// access returns the address format of a user's MongoDB server, and functions to inspect and clean it. Access.Names
// returns the IDs of documents in the collection lockbench_locks.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Example: "mongodb://host:27017", Port: "27017", Secret: true,
			Database: regexp.MustCompile(`^[^/]*$`), Option: "authSource", Ignored: "directConnection=true"},
		Version: version,
		Names: func(ctx context.Context, t servers.Target, prefix string) (names []string, err error) {
			var documents []struct {
				Name string `bson:"_id"`
			}
			err = withCollection(t, t.Hosts()[0], func(locks *mongo.Collection) error {
				found, err := locks.Find(ctx, begins(prefix), options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
				if err != nil {
					return err
				}
				return found.All(ctx, &documents)
			})
			for _, d := range documents {
				names = append(names, d.Name)
			}
			return names, err
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return withCollection(t, t.Hosts()[0], func(locks *mongo.Collection) error {
				_, err := locks.DeleteMany(ctx, begins(prefix))
				return err
			})
		},
	}
}

func begins(prefix string) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: prefix}, {Key: "$lt", Value: servers.After(prefix)}}}}
}

// version returns the version of a user's server. It returns an error for FerretDB and for a server that is not the
// primary.
func version(ctx context.Context, t servers.Target, host string) (string, error) {
	var build struct {
		Version string `bson:"version"`
		Ferret1 any    `bson:"ferretdbVersion"`
		Ferret2 any    `bson:"ferretdb"`
	}
	var hello struct {
		Writes bool `bson:"isWritablePrimary"`
	}
	err := withCollection(t, host, func(locks *mongo.Collection) error {
		db := locks.Database().Client().Database("admin")
		if err := db.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
			return err
		}
		return db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	})
	switch {
	case err != nil:
		return "", err
	case build.Ferret1 != nil || build.Ferret2 != nil:
		return "", errors.New("this is FerretDB, not MongoDB: use the lock ferretdb, which needs no server of yours")
	case !hello.Writes:
		return "", errors.New("it accepts no writes: name the primary of the replica set")
	}
	return build.Version, nil
}

func withCollection(t servers.Target, host string, do func(*mongo.Collection) error) error {
	opts := options.Client().ApplyURI(t.URL(host)).SetDirect(true).SetRetryWrites(false).SetRetryReads(false)
	opts.SetConnectTimeout(servers.ReachTimeout).SetServerSelectionTimeout(servers.ReachTimeout).SetTimeout(servers.SweepTimeout).SetWriteConcern(writeconcern.Majority())
	client, err := mongo.Connect(opts)
	if err != nil { // do not wrap err, because its text may contain the URL with a password
		return errors.New("invalid address")
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), servers.AskTimeout)
		defer cancel()
		_ = client.Disconnect(ctx) // ignore the error, because no command is pending
	}()
	database := t.Database()
	if database == "" {
		database = "lockbench"
	}
	return do(client.Database(database).Collection("lockbench_locks"))
}
