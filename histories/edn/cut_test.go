package edn

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"lockbench/histories"
)

// TestCutBeforeTheFirstMark checks that a history that was cut before its first mark is exported without operations. The order
// of its operations is not known.
func TestCutBeforeTheFirstMark(t *testing.T) {
	var file bytes.Buffer
	rec, err := histories.NewRecorder(&file, histories.Header{Lock: "test"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := rec.Log(0)
	l.Call(histories.Op{Kind: histories.Acquire, Key: "k"})
	l.Return(histories.Result{Outcome: histories.OK})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	mark := bytes.Index(text.Bytes(), []byte(`{"mark"`))
	if mark < 0 {
		t.Fatalf("no mark in %s", text.Bytes())
	}
	exported := func(history []byte) string {
		var out bytes.Buffer
		if _, err := export(&out, func() (*histories.Reader, error) { return histories.NewReader(bytes.NewReader(history)) }); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if whole := exported(text.Bytes()); !strings.Contains(whole, ":acquire") {
		t.Errorf("the whole history is exported without its acquire:\n%s", whole)
	}
	if cut := exported(text.Bytes()[:mark]); strings.Contains(cut, ":acquire") {
		t.Errorf("an operation is exported of a history without a mark:\n%s", cut)
	}
}
