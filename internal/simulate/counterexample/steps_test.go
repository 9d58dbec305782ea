package counterexample

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/inject"
	"lockbench/workloads"
)

// TestEveryVerb checks the texts for each kind of fault. A text must state the magnitude of the fault, such as a
// duration.
func TestEveryVerb(t *testing.T) {
	for _, verb := range verbs(t) {
		for _, deployment := range []string{"two-replicas", "five"} {
			x := &Example{Trial: Trial{Deployment: deployment, Params: workloads.Params{TTL: 800 * time.Millisecond}}}
			step := faults.Step{Do: faults.Action{Verb: verb, Client: 1, Process: 1, Nodes: []int{2}, By: 1234 * time.Millisecond, Wait: 70 * time.Millisecond}, For: 340 * time.Millisecond}
			f := &fault{Strike: inject.Strike{Step: step, To: time.Second, Clients: []int32{1}}}
			if step.Do.Verb == faults.Delay || step.Do.Verb == faults.Lose {
				f.passing = "the reply to client 1's acquire"
			}
			got := x.describe(f)
			if got == "" || strings.HasPrefix(got, string(verb)) || strings.Contains(got, "  ") {
				t.Errorf("%s: got %q", verb, got)
			}
			for _, magnitude := range magnitudes[verb] {
				if deployment == "five" && strings.HasPrefix(magnitude, "replica") {
					continue
				}
				if !strings.Contains(got, magnitude) {
					t.Errorf("%s: no %s in %q", verb, magnitude, got)
				}
			}
			t.Logf("%s. %s", got, x.describeEnd(f))
		}
	}
}

// magnitudes maps each kind of fault action to the values that its description must contain, such as durations.
var magnitudes = map[faults.Verb][]string{
	faults.Stall: {"client 1", "1.23 s", "800 ms"}, faults.Abandon: {"client 1"}, faults.GiveUp: {"70 ms", "1.23 s"},
	faults.Pause: {"process 1", "340 ms"}, faults.Kill: {"process 1"}, faults.Delay: {"1.23 s", "client 1's acquire"}, faults.Lose: {"client 1's acquire"},
	faults.Cut: {"process 1", "340 ms"}, faults.Slow: {"1.23 s", "340 ms"}, faults.Mute: {"process 1"},
	faults.Restart: {"1.23 s", "an empty memory"}, faults.Freeze: {"340 ms"}, faults.Jump: {"1.23 s forward"}, faults.Drift: {"gains 1.23 s"}, faults.ClientDrift: {"gains 1.23 s"},
	faults.Unlink: {"replica 2"}, faults.Failover: {"replica 2"},
	faults.Interrupt: {"client 1", "70 ms", "1.23 s"}, faults.Reset: {"process 1"}, faults.ReadOnly: {"340 ms"}, faults.Full: {"340 ms"},
}

// verbs returns the constants of type Verb. It reads them from the source code, so the list is always complete.
func verbs(t *testing.T) []faults.Verb {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "drive", "faults", "faults.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []faults.Verb
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Verb" {
			text, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			all = append(all, faults.Verb(text))
		}
		return true
	})
	if len(all) < 18 {
		t.Fatalf("only %d verbs were found", len(all))
	}
	return all
}
