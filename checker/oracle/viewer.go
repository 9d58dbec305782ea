package oracle

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker"
	"lockbench/checker/projection"
	"lockbench/histories"
)

// Viewer returns Porcupine's interactive HTML page for a witness, the operations that show a violation. ok is false if
// the property is not an exclusion property, or if the operations do not violate it.
func Viewer(property string, w *checker.Witness, slack time.Duration) (page []byte, ok bool, err error) {
	views := []projection.View{projection.Lived(), projection.Promised()}
	i := slices.IndexFunc(views, func(v projection.View) bool { return v.Property == property })
	if i < 0 {
		return nil, false, nil
	}
	v := views[i]
	holds, err := holdsOf(w, slack)
	if err != nil {
		return nil, false, nil
	}
	model := mutexModel(free)
	model.DescribeOperation = func(input, _ any) string { return describe(holds[input.(step).hold], input.(step), v) }
	model.DescribeState = func(state any) string {
		if state.(int) == free {
			return w.Key + " is free"
		}
		return fmt.Sprintf("client %d holds %s", holds[state.(int)].Acquire.Client, w.Key)
	}
	result, info := porcupine.CheckOperationsVerbose(model, operations(holds, v, w.To), searchBudget)
	if result != porcupine.Illegal {
		return nil, false, nil
	}
	for _, partials := range info.PartialLinearizations() {
		slices.SortFunc(partials, slices.Compare[[]int]) // make the page deterministic: Porcupine returns the partial linearizations in random order
	}
	var out bytes.Buffer
	err = porcupine.Visualize(model, info, &out)
	return out.Bytes(), err == nil, err
}

func holdsOf(w *checker.Witness, slack time.Duration) ([]*projection.Hold, error) {
	var holds []*projection.Hold
	p := projection.New(slack, func(_ *projection.Key, h *projection.Hold, c projection.Change) {
		if c == projection.Began {
			holds = append(holds, h)
		}
	})
	_, err := histories.Replay(histories.Ops(w.Ops), func(ev histories.Event) error {
		switch {
		case ev.Op.EndsClient() && !ev.Return:
			p.Gone(ev.Op)
		case ev.Op.Kind != histories.Inject:
			p.Event(p.Key(ev.Op.Key), ev)
		}
		return nil
	})
	return holds, err
}

// operations returns the acquire and the release of each hold as operations for Porcupine. Some renewals may be
// unknown. Each hold is therefore assumed to last at least until the violation ended (parameter overlapped).
func operations(holds []*projection.Hold, v projection.View, overlapped time.Duration) []porcupine.Operation {
	var ops []porcupine.Operation
	var last time.Duration
	for _, h := range holds {
		last = max(last, h.Granted, overlapped)
	}
	for i, h := range holds {
		ops = append(ops, porcupine.Operation{ClientId: row(holds, i), Input: step{hold: i}, Call: int64(h.Acquire.Call), Return: int64(h.Granted)})
		end, ok := v.End(h)
		if end = max(end, overlapped); !ok || end >= histories.Forever {
			continue
		}
		returned := h.Closed
		if end < h.End { // the lease expired before the release
			returned = end
		}
		if returned >= histories.Forever { // the release did not return, so it may take effect after all other operations
			returned = max(last, end) + 1
		}
		ops = append(ops, porcupine.Operation{ClientId: row(holds, i), Input: step{i, true}, Call: int64(end), Return: int64(max(returned, end))})
	}
	return ops
}

// mostRows is the maximum number of rows if client numbers are used as row numbers. Porcupine draws every row up to the
// highest number, so high client numbers would add many empty rows.
const mostRows = 16

// row returns the row of hold i on the page. This is the client number if all client numbers differ and are between 0
// and mostRows-1. Otherwise it is i.
func row(holds []*projection.Hold, i int) int {
	taken := map[int32]bool{}
	for _, h := range holds {
		if client := h.Acquire.Client; client < 0 || client >= mostRows || taken[client] {
			return i
		}
		taken[h.Acquire.Client] = true
	}
	return int(holds[i].Acquire.Client)
}

func describe(h *projection.Hold, a step, v projection.View) string {
	if !a.ends {
		return fmt.Sprintf("client %d acquires %s, granted at %s", h.Acquire.Client, h.Acquire.Key, checker.Milliseconds(h.Granted))
	}
	if end, _ := v.End(h); end < h.End {
		return fmt.Sprintf("client %d: its lease expires", h.Acquire.Client)
	}
	if h.Fault != nil {
		return fmt.Sprintf("client %d is gone from %s on", h.Acquire.Client, checker.Milliseconds(h.End))
	}
	return fmt.Sprintf("client %d releases %s at %s", h.Acquire.Client, h.Acquire.Key, checker.Milliseconds(h.End))
}
