package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// writeSales writes a run folder with three flash sales of three trials each. In the last flash sale, one trial leaves an item
// unsold, and one file is malformed.
func writeSales(t *testing.T, dir string) {
	t.Helper()
	m := sampleManifest()
	m.Interrupted = false
	lock := sampleLocks()[2]
	lock.sections = 200
	for i, shop := range []struct {
		lock, workload, form string
		goodput              [3]float64
		reached              int
	}{
		{"set-px-lua", "flash-sale", "plain", [3]float64{150, 100, 140}, 500},
		{"set-px-lua", "flash-sale-gated", "gated", [3]float64{140, 140, 154}, 2},
		{"segmented", "flash-sale", "split", [3]float64{500, 644, 700}, 500},
	} {
		c := Cell{Dir: shop.lock + "/" + shop.workload + "+none", Lock: shop.lock, Deployment: "single", Workload: shop.workload, Fault: "none"}
		m.Plan = append(m.Plan, c)
		for n, goodput := range shop.goodput {
			trial := filepath.Join(dir, c.Dir, fmt.Sprintf("%03d", n+1))
			writeTrial(t, trial, sampleTrial(lock, c, uint64(10*i+n)))
			per := 2.25
			f := saleFigures{Form: shop.form, Processes: 2, Buyers: 40, Segments: 1, HoldNS: 5e6, Stock: 200, Sold: 200, Refused: 500,
				Seconds: 200 / goodput, Goodput: goodput, P50: 128e6, P99: 1e9, Late: 500, Reached: shop.reached, LateP50: 5e5, StockCommands: &per}
			if shop.form == "split" {
				f.Segments = 5
				if n == 0 {
					f.Sold, f.Left = 199, 1
				}
			}
			put(t, filepath.Join(trial, shopName), marshal(t, f))
		}
	}
	put(t, filepath.Join(dir, "segmented/flash-sale+none/003", shopName), []byte("{"))
	if err := WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
}

// TestSales checks that the report shows the trial with the median goodput. The report must mention a trial that left an item
// unsold. The file results.json must list every readable trial.
func TestSales(t *testing.T) {
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep + "-sales"
	}
	writeSales(t, dir)
	r, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text, false, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"flash sale  40 buyers, 2 service processes, 200 pieces for sale, and 5 ms of work under the lock",
		"plain  set-px-lua  200 of 200          140       1        128 ms  1.00 s  500   0 %",
		"gated  set-px-lua  200 of 200          140       1.00     128 ms  1.00 s  500   99.6 %",
		"split  segmented   199 of 200, 1 left  500       –",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &text)
		}
	}
	if len(r.Sales) != 8 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "read the figures of the flash sale") {
		t.Errorf("%d sales, warnings %q", len(r.Sales), r.Warnings)
	}
	for name, want := range map[string]string{"index.html": `<td>199 of 200, 1 left</td>`, "report.md": "| split | segmented | 199 of 200, 1 left | 500 | – |"} {
		if page := string(read(t, dir, "report", name)); !strings.Contains(page, want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	if err := schema(t).Validate(parsed(t, read(t, dir, ResultsName))); err != nil {
		t.Error(err)
	}
	checkSchemaRefusesSales(t, read(t, dir, ResultsName))
}

func checkSchemaRefusesSales(t *testing.T, whole []byte) {
	t.Helper()
	for name, spoil := range map[string]func(sale map[string]any){
		"a field of no name": func(sale map[string]any) { sale["price"] = 1 },
		"no form":            func(sale map[string]any) { delete(sale, "form") },
		"less than nothing":  func(sale map[string]any) { sale["sold"] = -1 },
	} {
		var doc map[string]any
		if err := json.Unmarshal(whole, &doc); err != nil {
			t.Fatal(err)
		}
		spoil(doc["sales"].([]any)[0].(map[string]any))
		if err := schema(t).Validate(parsed(t, marshal(t, doc))); err == nil {
			t.Errorf("the schema accepts a sale with %s", name)
		}
	}
}

// TestSaleOfOneTrialOfMany checks the text that Balance returns for several trials. The figures in the text are from
// the median trial. If another trial did not sell exactly its stock, the text must say so.
func TestSaleOfOneTrialOfMany(t *testing.T) {
	exact := func(goodput float64, sold int, left int64) Sale {
		return Sale{saleFigures: saleFigures{Form: "plain", Stock: 10, Sold: sold, Left: left, Goodput: goodput}}
	}
	for want, all := range map[string][]Sale{
		"10 of 10":                       {exact(1, 10, 0), exact(2, 10, 0)},
		"10 of 10, in another trial not": {exact(1, 10, 0), exact(2, 10, 0), exact(3, 11, 0)},
		"12 of 10":                       {exact(1, 12, 0)},
	} {
		if got := rowOf(all).Balance(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
