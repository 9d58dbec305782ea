package stores

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/zap"

	"lockbench/internal/world/servers"
)

// startStore starts a local server of a store. If the store is not installed, the test is skipped. If LOCKBENCH_REQUIRE
// names the store, the test fails instead.
func startStore(t *testing.T, store string) *servers.Group {
	t.Helper()
	if !slices.Contains(Names(), store) {
		t.Skip("no lock talks to ", store, " yet")
	}
	if missing := Missing(store); missing != nil {
		asked := strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ",")
		if slices.Contains(asked, store) || slices.Contains(asked, Product(store)) {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Start(t.Context(), servers.Spec{How: servers.Local, Store: store, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func noEnv(string) string { return "" }

func parse(store, text string, getenv func(string) string) (servers.Target, error) {
	of, err := Find(store)
	if err != nil {
		return servers.Target{}, err
	}
	return of.Target(text, getenv)
}

func target(t *testing.T, store, text string) servers.Target {
	t.Helper()
	got, err := parse(store, text, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func access(t *testing.T, store string) *servers.Access {
	t.Helper()
	of, err := Find(store)
	if err != nil {
		t.Fatal(err)
	}
	return of.External
}

const (
	ourRun     = "20260101000000-12-0123456789abcdef"
	anotherRun = "20260101000000-12-0123456789abcdee"
)

// precious holds names that Sweep must not remove. Some of them resemble names of the swept run.
var precious = []string{"lockbench", "lockbench:", "lockbench:" + ourRun, "xlockbench:" + ourRun + ":k", "lockbench:" + ourRun + "0:k", "lockbench:*:k",
	"Lockbench:" + ourRun + ":k", "lockbench:" + anotherRun + ":k"}

// isSwept checks that Sweep removes the names of one run from a user's servers. It must remove no other names.
func isSwept(t *testing.T, of servers.Target, put func(name string) error) {
	t.Helper()
	for _, name := range append(slices.Clone(precious), "lockbench:"+ourRun+":k0", "lockbench:"+ourRun+":k1#2") {
		if err := put(name); err != nil {
			t.Fatal(err)
		}
	}
	g, err := Start(t.Context(), servers.Spec{How: servers.External, Store: of.Store(), Remote: servers.Remote{Targets: []servers.Target{of}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(g.Server, "(external)") || strings.Contains(g.Server, "  ") {
		t.Errorf("Server is %q", g.Server)
	}
	if runs, err := of.Runs(t.Context()); err != nil || len(runs) != 2 || runs[ourRun] != 2 || runs[anotherRun] != 1 {
		t.Errorf("runs %v (%v)", runs, err)
	}
	for range 2 { // the second call must find no names to remove
		if err := g.Sweep(ourRun); err != nil {
			t.Fatal(err)
		}
	}
	left, err := access(t, of.Store()).Names(t.Context(), of, servers.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if strings.HasPrefix(name, servers.KeyPrefix(ourRun)) {
			t.Errorf("%s was not removed", name)
		}
	}
	for _, name := range precious {
		if strings.HasPrefix(name, servers.Root) && !slices.Contains(left, name) {
			t.Errorf("%s of another program was removed", name)
		}
	}
	if err := g.Sweep("*"); err == nil {
		t.Error("Sweep accepted an invalid run id")
	}
	if err := g.Nodes[0].Kill(); err == nil {
		t.Error("Kill of a user's server succeeded")
	}
	if _, err := g.Nodes[0].Counters(t.Context()); !errors.Is(err, servers.ErrNoCounters) {
		t.Errorf("counters: %v", err)
	}
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTheirMySQL(t *testing.T) {
	owner := startStore(t, servers.MySQL)
	u, err := url.Parse(owner.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", u.Host, strings.Trim(u.Path, "/")
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	for _, statement := range []string{"CREATE USER me@'%' IDENTIFIED BY 's3same/gate'", "GRANT ALL ON *.* TO me@'%'"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	text := "me:%s@tcp(" + u.Host + ")/" + c.DBName
	of := target(t, servers.MySQL, fmt.Sprintf(text, "s3same/gate"))
	if err := of.Remove(t.Context(), ourRun); err != nil {
		t.Errorf("without the table: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE lockbench_locks (name VARBINARY(255) PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	isSwept(t, of, func(name string) error {
		_, err := db.ExecContext(t.Context(), "INSERT INTO lockbench_locks (name) VALUES (?)", name)
		return err
	})
	wrong := target(t, servers.MySQL, fmt.Sprintf(text, "s3same/other"))
	if err := wrong.Reach(t.Context()); err == nil || strings.Contains(err.Error(), "s3same") || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("a wrong password: %v", err)
	}
}

func TestTheirPostgres(t *testing.T) {
	owner := startStore(t, servers.Postgres)
	of := target(t, servers.Postgres, owner.URLs()[0])
	g, err := Start(t.Context(), servers.Spec{How: servers.External, Store: servers.Postgres, Remote: servers.Remote{Targets: []servers.Target{of}}})
	if err != nil || !strings.HasPrefix(g.Server, "postgres") {
		t.Fatalf("%v, %v", g, err)
	}
	if err := g.Sweep(ourRun); err != nil {
		t.Error(err)
	}
}

// TestTheirMongoDB checks the cleanup of a user's FerretDB. Reach must refuse a FerretDB that the user gave as a
// MongoDB.
func TestTheirMongoDB(t *testing.T) {
	of := target(t, servers.MongoDB, startStore(t, servers.FerretDB).URLs()[0])
	if err := of.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "this is FerretDB") {
		t.Errorf("FerretDB was accepted as MongoDB: %v", err)
	}
	locks := collection(t, of)
	for _, name := range append(slices.Clone(precious), "lockbench:"+ourRun+":k0", "lockbench:"+ourRun+":k1#2") {
		putDocument(t, locks, name)
	}
	if runs, err := of.Runs(t.Context()); err != nil || len(runs) != 2 || runs[ourRun] != 2 || runs[anotherRun] != 1 {
		t.Errorf("runs %v (%v)", runs, err)
	}
	for range 2 { // the second call must find no names to remove
		if err := of.Remove(t.Context(), ourRun); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := locks.CountDocuments(t.Context(), bson.D{}); err != nil || int(left) != len(precious) {
		t.Errorf("%d documents are left, want those of others: %d (%v)", left, len(precious), err)
	}
	if err := of.Remove(t.Context(), "*"); err == nil {
		t.Error("Remove accepted an invalid run id")
	}
}

// TestRealMongoDB checks that a mongod is accepted and that an unknown user is refused. The error must not contain the
// password.
func TestRealMongoDB(t *testing.T) {
	address := os.Getenv("LOCKBENCH_TEST_MONGODB")
	if address == "" {
		t.Skip("needs a mongod: set LOCKBENCH_TEST_MONGODB to the address of one that may be changed")
	}
	of := target(t, servers.MongoDB, address)
	locks := collection(t, of)
	isSwept(t, of, func(name string) error { putDocument(t, locks, name); return nil })
	secret := target(t, servers.MongoDB, strings.Replace(address, "://", "://me:s3same@", 1))
	if err := secret.Reach(t.Context()); err == nil || strings.Contains(err.Error(), "s3same") {
		t.Errorf("an unknown user: %v", err)
	}
}

// collection connects to the server of, which speaks the MongoDB protocol. It returns the collection that stores the
// locks.
func collection(t *testing.T, of servers.Target) *mongo.Collection {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(of.URL(of.Hosts()[0])).SetDirect(true).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client.Database("lockbench").Collection("lockbench_locks")
}

func putDocument(t *testing.T, locks *mongo.Collection, name string) {
	t.Helper()
	r := locks.FindOneAndUpdate(t.Context(), bson.D{{Key: "_id", Value: name}}, bson.D{{Key: "$set", Value: bson.D{{Key: "owner", Value: "me"}}}}, options.FindOneAndUpdate().SetUpsert(true))
	if err := r.Err(); err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		t.Fatal(err)
	}
}

func TestTheirEtcd(t *testing.T) {
	of := target(t, servers.Etcd, strings.Replace(startStore(t, servers.Etcd).URLs()[0], "etcd://", "", 1))
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + of.Hosts()[0]}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	isSwept(t, of, func(name string) error { _, err := c.Put(t.Context(), name, "x"); return err })
}

func TestTheirZooKeeper(t *testing.T) {
	of := target(t, servers.ZooKeeper, strings.Replace(startStore(t, servers.ZooKeeper).URLs()[0], "zookeeper://", "", 1))
	c, _, err := zk.Connect(of.Hosts(), 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	isSwept(t, of, func(name string) error {
		path := "/" + url.PathEscape(name)
		_, err1 := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		_, err2 := c.Create(path+"/waiter", nil, 0, zk.WorldACL(zk.PermAll))
		return errors.Join(err1, err2)
	})
}

// TestUnreachableServers checks the errors for servers that refuse connections or never answer.
func TestUnreachableServers(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for store, text := range map[string]string{servers.MySQL: "mysql://me:s3same@%s/db", servers.Postgres: "postgres://me:s3same@%s/db",
		servers.MongoDB: "mongodb://me:s3same@%s", servers.ZooKeeper: "%s", servers.Etcd: "etcd://me:s3same@%s"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			nobody := target(t, store, fmt.Sprintf(text, "127.0.0.1:1"))
			if err := nobody.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "s3same") {
				t.Errorf("nothing listens: %v", err)
			}
			mute := target(t, store, fmt.Sprintf(text, silent.Addr()))
			if err := mute.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within") || strings.Contains(err.Error(), "s3same") {
				t.Errorf("no answer: %v", err)
			}
		})
	}
}
