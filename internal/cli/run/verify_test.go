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

func fileOf(expectations string) string {
	return `{"lockbench_expectations":1,"lock":"x","expectations":[` + expectations + `]}`
}

const good = `{"property":"fencing","fault":"process-pause","expected":"holds","because":"why"}`

// TestExpectationsThatAreWrong checks that each error in a file of expectations has a line, a column and a suggestion.
func TestExpectationsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "expectations.json:1:1: unexpected end",
		`{"lock":"x"`:                    "expectations.json:1:11: unexpected end",
		"{\n  \"lock\": x}":              "expectations.json:2:11: invalid character 'x'",
		`{} {}`:                          "expectations.json:1:4: invalid character '{' after top-level value",
		`[]`:                             "expectations.json:1:1: a list is no mapping",
		`{"lock":"x"}`:                   "expectations.json:1:1: lockbench_expectations is missing: the version of the format, 1",
		`{"lockbench_expectations":1}`:   "expectations.json:1:1: lock is missing: the name that its worker states",
		`{"lockbench_expectations":"1"}`: `expectations.json:1:27: lockbench_expectations: "1" is no whole number`,
		`{"lockbench_expectations":2,"lock":"x"}`: "expectations.json:1:27: lockbench_expectations: 2 is more than 1",
		`{"lockbench_expectations":1,"lock":""}`:  "expectations.json:1:36: lock: must not be empty",
		fileOf(``):                                "expectations.json:1:55: expectations: the list is empty",
		fileOf(`7`):                               "expectations.json:1:56: 7 is no mapping",
		`{"lockbench_expectations":1,"lok":"x"}`:  `expectations.json:1:29: unknown key "lok" (did you mean lock?)`,
		fileOf(good + ",\n\n " + good):            "expectations.json:3:2: fencing in counter under process-pause is stated before",
		fileOf("\n" + `{"property":"fencin","expected":"holds","because":"why"}`):                                          `expectations.json:2:13: property: "fencin" is unknown (did you mean fencing?)`,
		fileOf(`{"property":"fencing","fault":"proces-pause","expected":"holds","because":"why"}`):                         `expectations.json:1:86: fault: "proces-pause" is unknown (did you mean process-pause?)`,
		fileOf(`{"property":"fencing","workload":"count","expected":"holds","because":"why"}`):                             `expectations.json:1:89: workload: "count" is unknown (did you mean counter?)`,
		fileOf(`{"property":"fencing","expected":"hold","because":"why"}`):                                                 `expectations.json:1:89: expected: "hold" is none of holds, violated, unspecified (did you mean holds?)`,
		fileOf(`{"property":"fencing","because":"why"}`):                                                                   "expectations.json:1:56: expected is missing",
		fileOf(`{"expected":"holds","because":"why"}`):                                                                     "expectations.json:1:56: property is missing",
		fileOf(`{"property":"fencing","expected":"holds"}`):                                                                "expectations.json:1:56: because is missing",
		fileOf(`{"property":"fencing","expected":"holds","because":"why","because":"so"}`):                                 "expectations.json:1:113: because: the key comes twice",
		fileOf(`{"property":"fencing","faults":"none","expected":"holds","because":"why"}`):                                `expectations.json:1:78: unknown key "faults" (did you mean fault?)`,
		`{"lockbench_expectations":1,"lock":"x","params":{"a":1},"expectations":[` + good + `]}`:                           "expectations.json:1:54: a: 1 has no quotes (want text)",
		`{"lockbench_expectations":1,"lock":"x","params":{"anything":"goes"},"expectations":[` + good + `,` + "{\"a\":}]}": "",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("expectations.json", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		_, err := readExpectations("expectations.json")
		if code := console.Report(t.Context(), &said, err); code != console.ExitUsage {
			t.Errorf("%s: exit code %d", text, code)
		}
		got := strings.ReplaceAll(said.String(), "\nhint:", "")
		if !strings.Contains(got, want) || !strings.Contains(got, "expectations.json:") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestExpectations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expectations.json")
	text := `{"lockbench_expectations":1,"lock":"x","params":{"a":"b"},"expectations":[` + good + `,
		{"property":"owner-release","expected":"violated","because":"why"}, {"property":"reentrancy","workload":"counter","expected":"unspecified","because":"why"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readExpectations(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []worker.Expectation{
		{Property: "fencing", Fault: "process-pause", Workload: "counter", Expected: "holds", Because: "why"},
		{Property: "owner-release", Fault: "none", Workload: "misuse", Expected: "violated", Because: "why"},
		{Property: "reentrancy", Fault: "none", Workload: "counter", Expected: "unspecified", Because: "why"},
	}
	for i := range want {
		if c.Expectations[i] != want[i] {
			t.Errorf("%+v, want %+v", c.Expectations[i], want[i])
		}
	}
	cells, err := c.cells(impls.Impl{Name: "x", Store: "redis", Deployment: "single"})
	if err != nil || len(cells) != 3 || cells[0].Fault.Name != "process-pause" || c.Params["a"] != "b" {
		t.Errorf("%v, %v", cells, err)
	}
	c.Expectations[0].Workload = "reentrant"
	if _, err := c.cells(impls.Impl{Name: "x", Store: "redis"}); err == nil || !strings.Contains(err.Error(), "does not apply") {
		t.Errorf("a workload that does not apply: %v", err)
	}
}

// TestExpectationsSchema checks that the published JSON schema accepts the example file, and rejects invalid files.
func TestExpectationsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/expectations.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	const example = "../../../examples/ci/expectations.json"
	if _, err := readExpectations(example); err != nil {
		t.Error(err)
	}
	published, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		string(published): true,
		fileOf(good):      true,
		fileOf(``):        false,
		fileOf(`{"property":"fencing","expected":"maybe","because":"why"}`):     false,
		fileOf(`{"property":"fencing","expected":"holds"}`):                     false,
		`{"lockbench_expectations":2,"lock":"x","expectations":[` + good + `]}`: false,
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
