package servers

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// theirMongoDB has documents in the collection of locks.
func theirMongoDB() theirs {
	return theirs{store: MongoDB, version: versionOfMongo,
		names: func(ctx context.Context, t Target, prefix string) ([]string, error) {
			locks, err := t.locksInMongo(t.hosts[0])
			if err != nil {
				return nil, err
			}
			defer disconnect(locks)
			found, err := locks.Find(ctx, begins(prefix), options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
			if err != nil {
				return nil, err
			}
			var documents []struct {
				Name string `bson:"_id"`
			}
			if err := found.All(ctx, &documents); err != nil {
				return nil, err
			}
			var names []string
			for _, d := range documents {
				names = append(names, d.Name)
			}
			return names, nil
		},
		remove: func(ctx context.Context, t Target, prefix string) error {
			locks, err := t.locksInMongo(t.hosts[0])
			if err != nil {
				return err
			}
			defer disconnect(locks)
			_, err = locks.DeleteMany(ctx, begins(prefix))
			return err
		},
	}
}

// begins is a filter that finds the documents whose names begin so.
func begins(prefix string) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: prefix}, {Key: "$lt", Value: afterAll(prefix)}}}}
}

// versionOfMongo refuses what only speaks its protocol, and what would send its clients elsewhere.
func versionOfMongo(ctx context.Context, t Target, host string) (string, error) {
	locks, err := t.locksInMongo(host)
	if err != nil {
		return "", err
	}
	defer disconnect(locks)
	var build struct {
		Version string `bson:"version"`
		Ferret1 any    `bson:"ferretdbVersion"`
		Ferret2 any    `bson:"ferretdb"`
	}
	db := locks.Database().Client().Database("admin")
	if err := db.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return "", err
	}
	var hello struct {
		Writes bool `bson:"isWritablePrimary"`
	}
	if err := db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return "", err
	}
	switch {
	case build.Ferret1 != nil || build.Ferret2 != nil:
		return "", errors.New("it is a FerretDB, which is not MongoDB: lockbench runs one of its own for the lock ferretdb")
	case !hello.Writes:
		return "", errors.New("it takes no writes: name the primary of its replica set")
	}
	return build.Version, nil
}

func (t Target) locksInMongo(host string) (*mongo.Collection, error) {
	opts := options.Client().ApplyURI(t.URL(host)).SetDirect(true).SetRetryWrites(false).SetRetryReads(false)
	opts.SetConnectTimeout(reachWithin).SetServerSelectionTimeout(reachWithin).SetTimeout(sweepWithin).SetWriteConcern(writeconcern.Majority())
	client, err := mongo.Connect(opts)
	if err != nil { // its text may quote the URL
		return nil, errors.New("its address cannot be read")
	}
	database := t.database
	if database == "" {
		database = "lockbench"
	}
	return client.Database(database).Collection("lockbench_locks"), nil
}

func disconnect(c *mongo.Collection) {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	_ = c.Database().Client().Disconnect(ctx) // nothing is under way
}
