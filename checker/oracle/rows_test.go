package oracle

import (
	"testing"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// TestViewerIsSmall checks that high client numbers get low rows, because Porcupine draws every row up to the highest.
func TestViewerIsSmall(t *testing.T) {
	for clients, want := range map[[2]int32][2]int{
		{3, 1}:       {3, 1},
		{7, 1 << 30}: {0, 1},
		{2, 2}:       {0, 1},
	} {
		holds := []*projection.Hold{{Acquire: histories.Op{Client: clients[0]}}, {Acquire: histories.Op{Client: clients[1]}}}
		if got := [2]int{row(holds, 0), row(holds, 1)}; got != want {
			t.Errorf("clients %v are drawn on %v, want %v", clients, got, want)
		}
	}
}
