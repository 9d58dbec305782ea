package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockbench/impls"
	"lockbench/impls/worker"
	"lockbench/internal/cli/console"
)

func claimsText(claims string) string {
	return `{"lockbench_claims":1,"lock":"x","claims":[` + claims + `]}`
}

const goodClaim = `{"property":"fencing","fault":"process-pause","verdict":"holds","because":"why"}`

// TestClaimsThatAreWrong: each error says where, and what was probably meant.
func TestClaimsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "claims.json:1:1: unexpected end",
		`{"lock":"x"`:                       "claims.json:1:11: unexpected end",
		"{\n  \"lock\": x}":                 "claims.json:2:11: invalid character 'x'",
		`{} {}`:                             "claims.json:1:4: invalid character '{' after top-level value",
		`[]`:                                "claims.json:1:1: a list is no mapping",
		`{"lock":"x"}`:                      "claims.json:1:1: lockbench_claims is missing: the version of the format, 1",
		`{"lockbench_claims":1}`:            "claims.json:1:1: lock is missing: as its worker calls itself",
		`{"lockbench_claims":"1"}`:          `claims.json:1:21: lockbench_claims: "1" is no whole number`,
		`{"lockbench_claims":2,"lock":"x"}`: "claims.json:1:21: lockbench_claims: 2 is more than 1",
		`{"lockbench_claims":1,"lock":""}`:  "claims.json:1:30: lock: there is none",
		claimsText(``):                      "claims.json:1:43: claims: the list is empty",
		claimsText(`7`):                     "claims.json:1:44: 7 is no mapping",
		`{"lockbench_claims":1,"lok":"x"}`:  `claims.json:1:23: unknown key "lok" (did you mean lock?)`,
		claimsText(goodClaim + ",\n\n " + goodClaim):                                                                "claims.json:3:2: fencing in counter under process-pause was claimed before",
		claimsText("\n" + `{"property":"fencin","verdict":"holds","because":"why"}`):                                `claims.json:2:13: property: "fencin" is unknown (did you mean fencing?)`,
		claimsText(`{"property":"fencing","fault":"proces-pause","verdict":"holds","because":"why"}`):               `claims.json:1:74: fault: "proces-pause" is unknown (did you mean process-pause?)`,
		claimsText(`{"property":"fencing","workload":"count","verdict":"holds","because":"why"}`):                   `claims.json:1:77: workload: "count" is unknown (did you mean counter?)`,
		claimsText(`{"property":"fencing","verdict":"hold","because":"why"}`):                                       `claims.json:1:76: verdict: "hold" is none of holds, breaks, open (did you mean holds?)`,
		claimsText(`{"property":"fencing","because":"why"}`):                                                        "claims.json:1:44: verdict is missing",
		claimsText(`{"verdict":"holds","because":"why"}`):                                                           "claims.json:1:44: property is missing",
		claimsText(`{"property":"fencing","verdict":"holds"}`):                                                      "claims.json:1:44: because is missing",
		claimsText(`{"property":"fencing","verdict":"holds","because":"why","because":"so"}`):                       "claims.json:1:100: because: the key comes twice",
		claimsText(`{"property":"fencing","faults":"none","verdict":"holds","because":"why"}`):                      `claims.json:1:66: unknown key "faults" (did you mean fault?)`,
		`{"lockbench_claims":1,"lock":"x","params":{"a":1},"claims":[` + goodClaim + `]}`:                           "claims.json:1:48: a: 1 has no quotes (want text)",
		`{"lockbench_claims":1,"lock":"x","params":{"anything":"goes"},"claims":[` + goodClaim + `,` + "{\"a\":}]}": "",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("claims.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		_, err := readClaims("claims.json")
		if code := console.Report(&said, err); code != console.ExitUsage {
			t.Errorf("%s: exit code %d", text, code)
		}
		got := strings.ReplaceAll(said.String(), "\nhint:", "")
		if !strings.Contains(got, want) || !strings.Contains(got, "claims.json:") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claims.json")
	text := `{"lockbench_claims":1,"lock":"x","params":{"a":"b"},"claims":[` + goodClaim + `,
		{"property":"owner-release","verdict":"breaks","because":"why"}, {"property":"reentrancy","workload":"counter","verdict":"open","because":"why"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readClaims(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []worker.Expect{
		{Property: "fencing", Fault: "process-pause", Workload: "counter", Verdict: "holds", Because: "why"},
		{Property: "owner-release", Fault: "none", Workload: "misuse", Verdict: "breaks", Because: "why"},
		{Property: "reentrancy", Fault: "none", Workload: "counter", Verdict: "open", Because: "why"},
	}
	for i := range want {
		if c.Claims[i] != want[i] {
			t.Errorf("%+v, want %+v", c.Claims[i], want[i])
		}
	}
	cells, err := c.cells(impls.Impl{Name: "x", Store: "redis", Deployment: "single"})
	if err != nil || len(cells) != 3 || cells[0].Fault.Name != "process-pause" || c.Params["a"] != "b" {
		t.Errorf("%v, %v", cells, err)
	}
	c.Claims[0].Workload = "reentrant"
	if _, err := c.cells(impls.Impl{Name: "x", Store: "redis"}); err == nil || !strings.Contains(err.Error(), "does not apply") {
		t.Errorf("a workload that does not apply: %v", err)
	}
}

// TestWorkerThatCannotBeMeant: what a worker says of itself is held to the tables.
func TestWorkerThatCannotBeMeant(t *testing.T) {
	for want, r := range map[string]worker.Ready{
		"has that name already":       {Name: "none"},
		"did you mean fencing?":       {Name: "x", Expect: []worker.Expect{{Property: "fencin"}}},
		"did you mean process-pause?": {Name: "x", Expect: []worker.Expect{{Property: "fencing", Fault: "proces-pause"}}},
		"did you mean counter?":       {Name: "x", Expect: []worker.Expect{{Property: "fencing", Workload: "count"}}},
	} {
		if err := checkReady(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	if err := checkReady(worker.Ready{Name: "x", Expect: []worker.Expect{{Property: "fencing"}}}); err != nil {
		t.Error(err)
	}
}

// TestClaimsSchema: the published shape takes the example, and the names in it are those that there are.
func TestClaimsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/claims.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	const example = "../../../examples/ci/claims.json"
	if _, err := readClaims(example); err != nil {
		t.Error(err)
	}
	good, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		string(good):          true,
		claimsText(goodClaim): true,
		claimsText(``):        false,
		claimsText(`{"property":"fencing","verdict":"maybe","because":"why"}`): false,
		claimsText(`{"property":"fencing","verdict":"holds"}`):                 false,
		`{"lockbench_claims":2,"lock":"x","claims":[` + goodClaim + `]}`:       false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
