package mongodb

import (
	"context"
	"errors"
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"lockbench/internal/world/servers"
)

// access finds documents in the collection of locks.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "mongodb://host:27017", Port: "27017", Secret: true,
			Database: regexp.MustCompile(`^[^/]*$`), Option: "authSource", Ignored: "directConnection=true"},
		Version: version,
		Names: func(ctx context.Context, t servers.Target, prefix string, visit func([]string) error) error {
			var documents []struct {
				Name string `bson:"_id"`
			}
			err := at(t, t.Hosts()[0], func(locks *mongo.Collection) error {
				found, err := locks.Find(ctx, begins(prefix), options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
				if err != nil {
					return err
				}
				return found.All(ctx, &documents)
			})
			var names []string
			for _, d := range documents {
				names = append(names, d.Name)
			}
			return errors.Join(err, visit(names))
		},
		Remove: func(ctx context.Context, t servers.Target, prefix string) error {
			return at(t, t.Hosts()[0], func(locks *mongo.Collection) error {
				_, err := locks.DeleteMany(ctx, begins(prefix))
				return err
			})
		},
	}
}

func begins(prefix string) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: prefix}, {Key: "$lt", Value: servers.After(prefix)}}}}
}

// version refuses what only speaks its protocol, and what would send its clients elsewhere.
func version(ctx context.Context, t servers.Target, host string) (string, error) {
	var build struct {
		Version string `bson:"version"`
		Ferret1 any    `bson:"ferretdbVersion"`
		Ferret2 any    `bson:"ferretdb"`
	}
	var hello struct {
		Writes bool `bson:"isWritablePrimary"`
	}
	err := at(t, host, func(locks *mongo.Collection) error {
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
		return "", errors.New("it is a FerretDB, which is not MongoDB: lockbench runs one of its own for the lock ferretdb")
	case !hello.Writes:
		return "", errors.New("it takes no writes: name the primary of its replica set")
	}
	return build.Version, nil
}

func at(t servers.Target, host string, do func(*mongo.Collection) error) error {
	opts := options.Client().ApplyURI(t.URL(host)).SetDirect(true).SetRetryWrites(false).SetRetryReads(false)
	opts.SetConnectTimeout(servers.ReachWithin).SetServerSelectionTimeout(servers.ReachWithin).SetTimeout(servers.SweepWithin).SetWriteConcern(writeconcern.Majority())
	client, err := mongo.Connect(opts)
	if err != nil { // its text may quote the URL
		return errors.New("its address cannot be read")
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), servers.AskWithin)
		defer cancel()
		_ = client.Disconnect(ctx) // nothing is under way
	}()
	database := t.Database()
	if database == "" {
		database = "lockbench"
	}
	return do(client.Database(database).Collection("lockbench_locks"))
}
