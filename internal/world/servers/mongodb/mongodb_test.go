package mongodb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/world/servers"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMongoDBIsNotLocal(t *testing.T) {
	_, err := servers.Start(t.Context(), Store(), servers.Spec{How: servers.Local, Store: servers.MongoDB})
	if err == nil || !strings.Contains(err.Error(), "MongoDB has no Debian package") || !strings.Contains(err.Error(), "--mongodb") {
		t.Errorf("got %v", err)
	}
}

// TestMongoCounters checks the counters parsed from a reply to serverStatus.
func TestMongoCounters(t *testing.T) {
	of := func(total int64) bson.D {
		return bson.D{{Key: "failed", Value: int64(1)}, {Key: "total", Value: total}}
	}
	answer, err := bson.Marshal(bson.D{
		{Key: "metrics", Value: bson.D{{Key: "commands", Value: bson.D{{Key: "<UNKNOWN>", Value: int64(3)},
			{Key: "findAndModify", Value: of(5)}, {Key: "delete", Value: of(0)}, {Key: "hello", Value: of(9)}, {Key: "serverStatus", Value: of(9)}}}}},
		{Key: "network", Value: bson.D{{Key: "bytesIn", Value: int64(7)}, {Key: "bytesOut", Value: int32(8)}}}})
	must(t, err)
	all, err := counted(answer)
	if want := "map[calls.findAndModify:5 total_net_input_bytes:7 total_net_output_bytes:8]"; err != nil || fmt.Sprint(all) != want {
		t.Errorf("%v, %v, want %s", all, err, want)
	}
	if _, err := counted(bson.Raw{5, 0, 0, 0, 0}); err == nil {
		t.Error("an answer without counters was accepted")
	}
}

// TestMongoReady checks that a replica set is created exactly once. The server must be ready as soon as it is the
// primary.
func TestMongoReady(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	var initiated, asked atomic.Int32
	go func() { // the loop ends when the listener is closed and Accept fails
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			command := make([]byte, 1<<12)
			n, _ := conn.Read(command)
			hello := bson.D{{Key: "ok", Value: 1.0}, {Key: "isWritablePrimary", Value: initiated.Load() > 0 && asked.Load() > 1}}
			if initiated.Load() > 0 {
				hello = append(hello, bson.E{Key: "setName", Value: replicaSet})
			}
			if bytes.Contains(command[:n], []byte("replSetInitiate")) {
				initiated.Add(1)
			} else {
				asked.Add(1)
			}
			body, _ := bson.Marshal(hello)
			answer := append(binary.LittleEndian.AppendUint32(nil, uint32(21+len(body))), make([]byte, 17)...)
			_, _ = conn.Write(append(answer, body...))
			conn.Close()
		}
	}()
	for i, want := range []bool{false, false, true} {
		if err := ready(t.Context(), listener.Addr().String()); (err == nil) != want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if got := initiated.Load(); got != 1 {
		t.Errorf("%d replica sets were created", got)
	}
}
