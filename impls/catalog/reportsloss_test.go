package catalog_test

import (
	"testing"

	"lockbench/impls"
)

// TestReportsLoss checks that each lock states whether it reports the loss of a hold.
func TestReportsLoss(t *testing.T) {
	eachLock(t, func(t *testing.T, impl impls.Impl, a, _ impls.Lock) {
		h, err := a.Acquire(t.Context(), request("a", 0))
		if err != nil {
			t.Fatal(err)
		}
		if reports := h.Lost != nil; reports != impl.ReportsLoss {
			t.Errorf("it reports losses: %t, but states %t", reports, impl.ReportsLoss)
		}
	})
}
