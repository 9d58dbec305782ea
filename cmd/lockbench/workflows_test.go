package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/impls/worker"
)

// step is a step of an action or a job. A job that calls a reusable workflow has the fields of a step, too.
type step struct {
	Name, ID, If, Shell, Run, Uses string
	Env                            map[string]string
	With                           map[string]string
}

type input struct {
	Required bool
	Default  string
}

// workflow has the fields of an action and of a workflow that the tests need.
type workflow struct {
	Inputs map[string]input // inputs of an action
	Runs   struct{ Steps []step }
	Jobs   map[string]struct {
		Uses  string
		With  map[string]string
		Steps []step
	}
	text string
}

const reusable = ".github/workflows/lock-library.yml"

func readWorkflow(t *testing.T, file string) (w workflow) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if file == reusable {
		var called struct {
			On struct {
				Call struct{ Inputs map[string]input } `yaml:"workflow_call"`
			}
		}
		if err := yaml.Unmarshal(text, &called); err != nil {
			t.Fatal(err)
		}
		w.Inputs = called.On.Call.Inputs
	}
	w.text = string(text)
	return w
}

// steps returns all steps of an action or a workflow, and a step for each job that calls a reusable workflow.
func (w workflow) steps() []step {
	all := slices.Clone(w.Runs.Steps)
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		job := w.Jobs[name]
		all = append(all, job.Steps...)
		if job.Uses != "" {
			all = append(all, step{Uses: job.Uses, With: job.With})
		}
	}
	return all
}

var (
	pinnedAction = regexp.MustCompile(`^[\w./-]+@v\d+(\.\d+)*$`)
	usedInput    = regexp.MustCompile(`inputs\.([\w-]+)`)
)

// TestWorkflows checks the action, the reusable workflow and the examples: every action that they use is pinned to a version,
// every input that they use exists, and a call of the action or the reusable workflow passes the required inputs.
func TestWorkflows(t *testing.T) {
	examples, err := filepath.Glob("../../examples/ci/*.yml")
	if err != nil || len(examples) < 4 {
		t.Fatalf("found %d examples: %v", len(examples), err)
	}
	files := []string{"action.yml", reusable}
	for _, file := range examples {
		files = append(files, "examples/ci/"+filepath.Base(file))
	}
	called := map[string]map[string]input{
		"$/": readWorkflow(t, "action.yml").Inputs, "OWNER/lockbench": readWorkflow(t, "action.yml").Inputs,
		"OWNER/lockbench/" + reusable: readWorkflow(t, reusable).Inputs,
	}
	for _, file := range files {
		w, calls := readWorkflow(t, file), 0
		for _, s := range w.steps() {
			if s.Uses == "" {
				continue
			}
			name, _, _ := strings.Cut(s.Uses, "@")
			if name != "$/" && !pinnedAction.MatchString(s.Uses) {
				t.Errorf("%s: %s is not pinned to a version", file, s.Uses)
			}
			if inputs := called[name]; inputs != nil {
				calls++
				checkCall(t, file, s, inputs)
			}
		}
		if calls == 0 && file != "action.yml" {
			t.Errorf("%s does not use the action", file)
		}
		for _, m := range usedInput.FindAllStringSubmatch(w.text, -1) {
			if _, ok := w.Inputs[m[1]]; !ok {
				t.Errorf("%s uses the input %s, which it does not have", file, m[1])
			}
		}
		for name := range w.Inputs {
			if !strings.Contains(w.text, "inputs."+name+" }}") {
				t.Errorf("%s does not use its input %s", file, name)
			}
		}
	}
}

var newWorker = regexp.MustCompile(`lockbench new-worker --language (\w+)`)

// TestExamplesUseNewWorkers checks that each example says which command writes its worker, and starts that worker.
func TestExamplesUseNewWorkers(t *testing.T) {
	examples, err := filepath.Glob("../../examples/ci/*.yml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("found %d examples: %v", len(examples), err)
	}
	for _, file := range examples {
		w := readWorkflow(t, "examples/ci/"+filepath.Base(file))
		said := newWorker.FindStringSubmatch(w.text)
		if said == nil {
			t.Errorf("%s does not name its new-worker command", file)
			continue
		}
		i := slices.IndexFunc(worker.Templates(), func(of worker.Template) bool { return of.Language == said[1] })
		if i < 0 {
			t.Errorf("%s: unknown language %s", file, said[1])
			continue
		}
		words := strings.Fields(worker.Templates()[i].Command)
		program := filepath.Base(words[len(words)-1])
		for _, s := range w.steps() {
			if command := s.With["worker"]; strings.HasPrefix(s.Uses, "OWNER/") && (!strings.Contains(command, "lockbench-worker-"+said[1]+"/") || !strings.HasSuffix(command, program)) {
				t.Errorf("%s starts %s, want %s in lockbench-worker-%s", file, command, program, said[1])
			}
		}
	}
}

func checkCall(t *testing.T, file string, s step, inputs map[string]input) {
	t.Helper()
	for name := range s.With {
		if _, ok := inputs[name]; !ok {
			t.Errorf("%s: %s has no input %s", file, s.Uses, name)
		}
	}
	for name, in := range inputs {
		if in.Required && s.With[name] == "" {
			t.Errorf("%s: %s needs the input %s", file, s.Uses, name)
		}
	}
}

// TestReusableWorkflowInputs checks that the reusable workflow has the inputs of the action, with the same defaults, and passes
// them on.
func TestReusableWorkflowInputs(t *testing.T) {
	action, w := readWorkflow(t, "action.yml"), readWorkflow(t, reusable)
	steps := w.steps()
	with := steps[len(steps)-1].With
	for name, in := range action.Inputs {
		if w.Inputs[name] != in {
			t.Errorf("%s: %+v, want %+v", name, w.Inputs[name], in)
		}
		if want := "${{ inputs." + name + " }}"; with[name] != want {
			t.Errorf("%s is passed as %q, want %q", name, with[name], want)
		}
	}
}
