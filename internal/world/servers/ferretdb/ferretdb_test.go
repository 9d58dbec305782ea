package ferretdb

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/internal/world/builtin"
	"lockbench/internal/world/servers"
)

// TestMain runs the tests. If the first argument is servers.StoreVerb, it runs a built-in server instead.
func TestMain(m *testing.M) {
	builtin.ServeChild()
	os.Exit(m.Run())
}

func startFerret(t *testing.T) (*servers.Group, *mongo.Collection) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.Local, Store: servers.FerretDB, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("files left: %v (%v)", left, err)
		}
	})
	client, err := mongo.Connect(options.Client().ApplyURI(g.Front()[0]).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	return g, client.Database("lockbench").Collection("test")
}

func TestFerretDB(t *testing.T) {
	g, documents := startFerret(t)
	n := g.Nodes[0]
	if g.Server != "ferretdb "+version+" (local)" || g.Durability == "" {
		t.Errorf("%q, %q", g.Server, g.Durability)
	}
	before, err := n.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := documents.InsertOne(t.Context(), bson.D{{Key: "_id", Value: i}}); err != nil {
			t.Fatal(err)
		}
	}
	after, err := n.Counters(t.Context())
	if err != nil || after["calls.insert"]-before["calls.insert"] != 3 {
		t.Errorf("3 insertions were counted as %v (%v)", after["calls.insert"]-before["calls.insert"], err)
	}
	if err := n.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := n.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := n.Kill(); err != nil || n.Alive() {
		t.Fatalf("alive: %t, %v", n.Alive(), err)
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = servers.Poll(t.Context(), 10*servers.PollEvery, func(ctx context.Context) error {
		found, err := documents.CountDocuments(ctx, bson.D{})
		if err == nil && found != 3 {
			err = fmt.Errorf("%d documents", found)
		}
		return err
	})
	if err != nil {
		t.Errorf("an acknowledged write is lost after a restart: %v", err)
	}
	if err := n.EndSession(t.Context(), "k", servers.Holder); err == nil {
		t.Error("EndSession succeeded, although FerretDB has no sessions")
	}
}

func TestFerretVersionMatchesModule(t *testing.T) {
	text, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "github.com/FerretDB/FerretDB v"+version+"\n") {
		t.Errorf("go.mod does not have %s", version)
	}
}

func TestFerretNeedsSelf(t *testing.T) {
	if _, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.Local, Store: servers.FerretDB}); err == nil || !strings.Contains(err.Error(), "Spec.Self") {
		t.Errorf("got %v", err)
	}
}
