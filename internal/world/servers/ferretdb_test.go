package servers

import (
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func startFerret(t *testing.T) (*Group, *mongo.Collection) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	g, err := Start(t.Context(), Spec{How: Local, Store: FerretDB, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v (%v)", left, err)
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
	if g.Server != "ferretdb "+ferretVersion+" (local)" || g.Durability == "" {
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
	eventually(t, "what was acknowledged is there after a restart", func() bool {
		found, err := documents.CountDocuments(t.Context(), bson.D{})
		return err == nil && found == 3
	})
	if err := n.Unseat(t.Context(), "k"); err == nil {
		t.Error("it has no session to end")
	}
}

func TestFerretVersionIsTheModules(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "github.com/FerretDB/FerretDB v"+ferretVersion+"\n") {
		t.Errorf("go.mod does not have %s", ferretVersion)
	}
}

func TestFerretNeedsThisProgram(t *testing.T) {
	if _, err := Start(t.Context(), Spec{How: Local, Store: FerretDB}); err == nil || !strings.Contains(err.Error(), "Spec.Self") {
		t.Errorf("got %v", err)
	}
}

func TestMongoDBIsNotOneOfOurs(t *testing.T) {
	_, err := Start(t.Context(), Spec{How: Local, Store: MongoDB})
	if err == nil || !strings.Contains(err.Error(), "not in Debian") || !strings.Contains(err.Error(), "--mongodb") {
		t.Errorf("got %v", err)
	}
}
