package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/impls"
	mongolocks "lockbench/impls/mongo"
	"lockbench/internal/world/servers"
	"lockbench/internal/world/stores"
)

// deployFerret starts a FerretDB server. The server stops at the end of the test.
func deployFerret(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: FerretDB takes long to come up")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g, err := stores.Start(t.Context(), servers.Spec{How: servers.Local, Store: servers.FerretDB, Self: self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g.Front()[0]
}

// documentServer returns the URL of a server for a lock: a mongod for the lock mongodb, and otherwise a new FerretDB. Tests
// of mongodb are skipped unless LOCKBENCH_TEST_MONGODB has the URL of a mongod. Each test has a separate database on the
// mongod.
func documentServer(t *testing.T, impl impls.Impl) string {
	t.Helper()
	if impl.Name != "mongodb" {
		return deployFerret(t)
	}
	address := os.Getenv("LOCKBENCH_TEST_MONGODB")
	if address == "" {
		t.Skip("its updates by pipeline need a mongod: name one in LOCKBENCH_TEST_MONGODB, as mongodb://host:port")
	}
	return fmt.Sprintf("%s/lockbench_test_%d", strings.TrimSuffix(address, "/"), time.Now().UnixNano())
}

func named(t *testing.T, name string) impls.Impl {
	t.Helper()
	all := []impls.Impl{mongolocks.Lease(), mongolocks.Plain(), mongolocks.FerretDB()}
	i := slices.IndexFunc(all, func(l impls.Impl) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("unknown lock %s", name)
	}
	return all[i]
}

// openTwo opens a lock for two processes.
func openTwo(t *testing.T, impl impls.Impl, nodes []string, wait string) (a, b impls.Lock) {
	t.Helper()
	locks := make([]impls.Lock, 2)
	for i := range locks {
		lock, err := impl.Open(impls.Env{Nodes: nodes, Prefix: t.Name() + ":", Process: i,
			Params: map[string]string{"wait": wait}, Rand: impls.NewRand(1, uint64(i))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		locks[i] = lock
	}
	return locks[0], locks[1]
}

// request returns a request to acquire the key k for ten seconds.
func request(owner string, wait time.Duration) impls.Request {
	return impls.Request{Key: "k", Owner: owner, TTL: 10 * time.Second, Wait: wait}
}

// eachDocument runs a test on each lock of this package.
func eachDocument(t *testing.T, test func(t *testing.T, impl impls.Impl, a, b impls.Lock)) {
	for _, name := range []string{"mongodb", "mongodb-plain", "ferretdb"} {
		for _, wait := range []string{"spin", "backoff"} {
			t.Run(name+"/"+wait, func(t *testing.T) {
				impl := named(t, name)
				a, b := openTwo(t, impl, []string{documentServer(t, impl)}, wait)
				test(t, impl, a, b)
			})
		}
	}
}

func probe(t *testing.T, l impls.Lock, key string) (string, time.Duration) {
	t.Helper()
	token, left, err := l.(impls.Prober).Probe(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return token, left
}

func TestDocumentHasOneOwner(t *testing.T) {
	eachDocument(t, func(t *testing.T, impl impls.Impl, a, b impls.Lock) {
		h, err := a.Acquire(t.Context(), request("x", 0))
		if err != nil {
			t.Fatal(err)
		}
		token, left := probe(t, b, "k")
		if token != h.Token || h.Validity == impls.Unbounded != (left == impls.Unbounded) || left > 10*time.Second {
			t.Errorf("the store has %q for %v, the grant is %+v", token, left, h.Grant)
		}
		if _, err := b.Acquire(t.Context(), request("y", 0)); !errors.Is(err, impls.ErrBusy) {
			t.Errorf("taken: %v", err)
		}
		if _, err := b.Acquire(t.Context(), request("y", 30*time.Millisecond)); !errors.Is(err, impls.ErrBusy) {
			t.Errorf("the wait returned %v", err)
		}
		if again, _ := probe(t, b, "k"); again != h.Token {
			t.Errorf("a refusal changed the document: %q", again)
		}
		if err := a.Release(t.Context(), h.Grant); err != nil {
			t.Fatal(err)
		}
		if err := a.Release(t.Context(), h.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("released twice: %v", err)
		}
		if token, _ := probe(t, b, "k"); token != "" {
			t.Errorf("after the release the store has %q", token)
		}
		if _, err := b.Acquire(t.Context(), request("y", 0)); err != nil {
			t.Errorf("free: %v", err)
		}
	})
}

// TestDocumentExpires checks that an expired document is granted to the next client. The previous owner can then neither
// renew nor release the lock.
func TestDocumentExpires(t *testing.T) {
	eachDocument(t, func(t *testing.T, impl impls.Impl, a, b impls.Lock) {
		req := request("x", 0)
		req.TTL = 100 * time.Millisecond
		late, err := a.Acquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if late.Validity == impls.Unbounded {
			time.Sleep(2 * req.TTL)
			if _, err := b.Acquire(t.Context(), request("y", 0)); !errors.Is(err, impls.ErrBusy) {
				t.Errorf("a document without a lease expired: %v", err)
			}
			return
		}
		next, err := b.Acquire(t.Context(), request("y", 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.(impls.Renewer).Renew(t.Context(), late.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("the late owner renewed: %v", err)
		}
		if err := a.Release(t.Context(), late.Grant); !errors.Is(err, impls.ErrNotHeld) {
			t.Errorf("the late owner released: %v", err)
		}
		if token, _ := probe(t, a, "k"); token != next.Token {
			t.Errorf("the store has %q, want the next owner's", token)
		}
	})
}

func TestDocumentIsRenewed(t *testing.T) {
	eachDocument(t, func(t *testing.T, impl impls.Impl, a, b impls.Lock) {
		r, can := a.(impls.Renewer)
		if !can {
			t.Skip("it has no lease")
		}
		req := request("x", 0)
		req.TTL = 400 * time.Millisecond
		h, err := a.Acquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		longer := h.Grant
		longer.Validity, longer.SentAfter = time.Hour, time.Second
		if g, err := r.Renew(t.Context(), longer); errors.Is(err, impls.ErrNotHeld) {
			t.Skip("the machine was paused for longer than the lease")
		} else if err != nil || g.Validity != time.Hour || g.SentAfter != 0 {
			t.Errorf("%+v, %v", g, err)
		}
		if _, left := probe(t, b, "k"); left < 50*time.Minute || left > time.Hour {
			t.Errorf("after a renewal for an hour %v are left", left)
		}
	})
}

// TestExpiredDocumentIsGrantedOnce checks that an expired document is granted to exactly one of many clients. The test
// skips FerretDB, which may grant the document twice.
func TestExpiredDocumentIsGrantedOnce(t *testing.T) {
	lock := named(t, "mongodb")
	a, b := openTwo(t, lock, []string{documentServer(t, lock)}, "spin")
	short := request("x", 0)
	short.TTL = time.Millisecond
	for range 20 {
		if _, err := a.Acquire(t.Context(), short); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		var granted atomic.Int32
		var hold impls.Hold
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				h, err := []impls.Lock{a, b}[i%2].Acquire(t.Context(), request("y", 0))
				if err == nil && granted.Add(1) == 1 {
					hold = h
				} else if err != nil && !errors.Is(err, impls.ErrBusy) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if granted.Load() != 1 {
			t.Fatalf("%d were granted it", granted.Load())
		}
		if err := a.Release(t.Context(), hold.Grant); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFerretIncrementsAreLost reproduces a defect of FerretDB without any lock: some acknowledged findAndModify increments
// are lost.
func TestFerretIncrementsAreLost(t *testing.T) {
	client, err := mongo.Connect(options.Client().ApplyURI(deployFerret(t)).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background())
	counters := client.Database("lockbench").Collection("counters")
	if _, err := counters.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "n"}, {Key: "n", Value: 0}}); err != nil {
		t.Fatal(err)
	}
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				by := bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}}
				if counters.FindOneAndUpdate(t.Context(), bson.D{{Key: "_id", Value: "n"}}, by).Err() == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	all.Wait()
	var final struct{ N int64 }
	if err := counters.FindOne(t.Context(), bson.D{{Key: "_id", Value: "n"}}).Decode(&final); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d increments were acknowledged, the final value is %d", acknowledged.Load(), final.N)
	if final.N >= acknowledged.Load() {
		t.Error("no increment is lost: findAndModify is atomic now; review the expectations of the lock ferretdb")
	}
}

func TestMongoURLsAreNotQuoted(t *testing.T) {
	for _, url := range []string{"s3same", "mongodb://u:%zzs3same@host", "mongodb://u:s3same@host/?no=such&tls=maybe", "mongodb://u:s3same@host:port", "://s3same"} {
		l, err := named(t, "mongodb").Open(impls.Env{Nodes: []string{url}, Rand: impls.NewRand(1, 1)})
		if err == nil {
			l.Close()
		}
		if err == nil || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
