package proxy

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fromClient holds chunks sent by a client, and fromServer holds chunks sent by a server. Only some chunks are complete
// frames.
var fromClient, fromServer = []string{
	"*1\r\n$4\r\nPING\r\n", "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$0\r\n\r\n", "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n", "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\nc\r\n",
	"*2\r\n$3\r\nGET\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n", "*70\r\n" + strings.Repeat("$1\r\na\r\n", 70), "PING\r\n",
	"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n", "$1\r\nk\r\n", "*1\r\n$4\r\nPI", "NG\r\n", "*0\r\n", "\r\n",
}, []string{
	"+OK\r\n", "-ERR no\r\n", ":5\r\n", "$-1\r\n", "$5\r\nhello\r\n", "$0\r\n\r\n", "*-1\r\n", "*0\r\n", "*2\r\n:1\r\n:0\r\n", "*3\r\n:0\r\n$0\r\n\r\n:500\r\n",
	"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n",
	"*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n", "*2\r\n*1\r\n:1\r\n:2\r\n", "*1\r\n$-1\r\n", "+O", "K\r\n", "+OK\r\n+OK\r\n", "+a\nb\r\n", "_\r\n",
}

// TestWhole checks that the fast path Conversation.Whole does not change the results of parsing. It parses random chunks
// with and without Whole. The parts must be equal.
func TestWhole(t *testing.T) {
	taken := 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 0))
		slow, quick := NewConversation(), NewConversation()
		for range 12 {
			up := r.IntN(2) == 0
			chunk := fromServer[r.IntN(len(fromServer))]
			cuts, quickCuts := slow.FromServer, quick.FromServer
			if up {
				chunk, cuts, quickCuts = fromClient[r.IntN(len(fromClient))], slow.FromClient, quick.FromClient
			}
			var want, got []Part
			for part := range cuts([]byte(chunk)) {
				part.Bytes = slices.Clone(part.Bytes)
				want = append(want, part)
			}
			if part, ok := quick.Whole([]byte(chunk), up); ok {
				got = append(got, part)
				taken++
			} else {
				for part := range quickCuts([]byte(chunk)) {
					part.Bytes = slices.Clone(part.Bytes)
					got = append(got, part)
				}
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d, %q: %+v, with Whole %+v", seed, chunk, want, got)
			}
		}
	}
	if taken < 1000 {
		t.Errorf("Whole took only %d chunks", taken)
	}
}
