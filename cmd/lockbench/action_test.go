package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/world/stores"
)

// job is a job on this machine that uses the action.
type job struct {
	action    workflow
	inputs    map[string]string
	temp      string // RUNNER_TEMP
	files     string // folder of the files in which steps write outputs and the summary
	workspace string
	server    string            // URL of GitHub; "": none
	outputs   map[string]string // outputs of the steps so far, such as steps.source.outputs.folder
	log       bytes.Buffer
}

func newJob(t *testing.T, inputs map[string]string) *job {
	t.Helper()
	j := &job{action: readWorkflow(t, "action.yml"), inputs: map[string]string{}, temp: t.TempDir(), files: t.TempDir(), workspace: t.TempDir(), outputs: map[string]string{}}
	for name, in := range j.action.Inputs {
		j.inputs[name] = in.Default
	}
	maps.Copy(j.inputs, inputs)
	return j
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// evaluated replaces the expressions in a text by their values.
func (j *job) evaluated(t *testing.T, text string) string {
	t.Helper()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"github.action_path": source, "github.server_url": cmp.Or(j.server, "https://github.invalid"),
		"github.action_repository || github.repository": "owner/lockbench"}
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		name := expression.FindStringSubmatch(found)[1]
		if value, ok := known[name]; ok {
			return value
		}
		if value, ok := j.outputs[name]; ok {
			return value
		}
		value, ok := j.inputs[strings.TrimPrefix(name, "inputs.")]
		if !ok || !strings.HasPrefix(name, "inputs.") {
			t.Fatalf("unknown expression %s", found)
		}
		return value
	})
}

// execute runs a step as a runner does: with bash, which stops at the first command that fails. It returns the exit code.
func (j *job) execute(t *testing.T, s step, env ...string) int {
	t.Helper()
	if s.Shell != "bash" || expression.MatchString(s.Run) {
		t.Errorf("%s: want shell bash, and values passed by env, which need no quoting", s.Name)
	}
	script, output := filepath.Join(j.files, "step.sh"), filepath.Join(j.files, "output")
	for file, text := range map[string]string{script: s.Run, output: ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.workspace, &j.log, &j.log
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+j.temp, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+filepath.Join(j.files, "summary.md"))
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+j.evaluated(t, value))
	}
	cmd.Env = append(cmd.Env, env...)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		j.outputs[fmt.Sprintf("steps.%s.outputs.%s", s.ID, name)] = value
	}
	return cmd.ProcessState.ExitCode()
}

// run runs the steps in order, except those that use another action. Like a runner, it stops at a failed step.
func (j *job) run(t *testing.T) int {
	t.Helper()
	for _, s := range j.action.Runs.Steps {
		if s.Run == "" {
			for _, value := range s.With {
				j.evaluated(t, value) // an unknown expression is an error
			}
			continue
		}
		if code := j.execute(t, s); code != 0 {
			return code
		}
	}
	return 0
}

// file returns the contents of a file in the folder with the results.
func (j *job) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.workspace, j.inputs["name"], name))
	if err != nil {
		t.Errorf("%v\n%s", err, &j.log)
	}
	return string(text)
}

// TestAction runs the steps of the action with a sound and a broken lock.
func TestAction(t *testing.T) {
	if missing, err := condition("missing:redis-server"); err != nil {
		t.Fatal(err)
	} else if missing || testing.Short() {
		t.Skip("redis-server is not on the PATH (apt install redis-server), or -short: the action builds lockbench")
	}
	expectations := func(lock, property, fault string) string {
		return fmt.Sprintf(`{"lockbench_expectations":1,"lock":%q,"expectations":[{"property":%q,"fault":%q,"expected":"holds","because":"it says so"}]}`, lock, property, fault)
	}
	temp := t.TempDir() // one folder, so that lockbench is linked once
	for _, x := range []struct {
		lock, profile    string
		codes            []int // a search on a busy machine may be inconclusive
		expectations     string
		headline, badges string
	}{
		{"sound", "full", []int{0, 3}, expectations("sound", "owner-release", "none"), "1 lock excluded", `"color":"(brightgreen|yellow)"`},
		{"broken", "quick", []int{1}, expectations("broken", "mutual-exclusion", "none"), "broken let two clients hold at once", `"message":"\d+/\d+","color":"red"`},
		{"broken", "quick", []int{2}, expectations("sound", "owner-release", "none"), "exit code 2 and without results", ""},
	} {
		t.Run(fmt.Sprintf("%s ends with %d", x.lock, x.codes[0]), func(t *testing.T) {
			j := newJob(t, map[string]string{"worker": x.lock + "-worker", "store": "redis", "profile": x.profile, "search": "2s", "expectations": "expectations.json"})
			j.temp = temp
			if err := os.WriteFile(filepath.Join(j.workspace, "expectations.json"), []byte(x.expectations), 0o644); err != nil {
				t.Fatal(err)
			}
			if code := j.run(t); !slices.Contains(x.codes, code) {
				t.Fatalf("exit code %d, want %v\n%s", code, x.codes, &j.log)
			}
			summary, err := os.ReadFile(filepath.Join(j.files, "summary.md"))
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(strings.TrimPrefix(string(summary), "# verify\n\n"), "\n")
			if !strings.HasPrefix(first, "**") || !strings.Contains(first, x.headline) {
				t.Errorf("the summary begins with %q, want the verdict %q", first, x.headline)
			}
			if searched := strings.Contains(string(summary), "## Search, exit code"); searched != (x.profile == "full") {
				t.Errorf("profile %s: searched %t", x.profile, searched)
			}
			if x.badges == "" {
				return
			}
			if badge := j.file(t, "badge.json"); !regexp.MustCompile(x.badges).MatchString(badge) {
				t.Errorf("badge %s, want %s", badge, x.badges)
			}
			if !strings.Contains(j.file(t, "junit.xml"), `<testsuite name="`+x.lock+"/") || !strings.Contains(j.file(t, "verify/results.json"), x.lock) {
				t.Error("the JUnit report or the results are about another lock")
			}
		})
	}
}

// TestActionVersion checks that the action fetches a tag, a branch or a commit of lockbench.
func TestActionVersion(t *testing.T) {
	server := t.TempDir()
	repository := filepath.Join(server, "owner", "lockbench")
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(repository, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	git("tag", "v1")
	first := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "second")
	second := git("rev-parse", "HEAD")
	for version, want := range map[string]string{"v1": first, first: first, "main": second, "v2": ""} {
		j := newJob(t, map[string]string{"version": version})
		j.server = "file://" + server
		code := j.execute(t, j.action.Runs.Steps[0])
		if want == "" {
			if code == 0 {
				t.Errorf("version %s: exit code 0, though there is no such version", version)
			}
			continue
		}
		head, err := os.ReadFile(filepath.Join(j.outputs["steps.source.outputs.folder"], ".git", "HEAD"))
		if code != 0 || err != nil || strings.TrimSpace(string(head)) != want {
			t.Errorf("version %s: exit code %d, commit %s, want %s (%v)\n%s", version, code, head, want, err, &j.log)
		}
	}
}

// TestActionInstallsStore checks that the action installs the Debian packages that lockbench names for each store, and
// nothing if they are installed.
func TestActionInstallsStore(t *testing.T) {
	j := newJob(t, nil)
	at := slices.IndexFunc(j.action.Runs.Steps, func(s step) bool { return s.Name == "Install the store" })
	if at < 0 {
		t.Fatal("the action installs no store")
	}
	bin := t.TempDir()
	for name, script := range map[string]string{"sudo": "#!/bin/sh\necho \"$@\" >> \"$CALLS\"\n", "dpkg": "#!/bin/sh\nexit $INSTALLED\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, store := range append(stores.Names(), "", "none") {
		j.inputs["store"] = store
		want, _ := strings.CutPrefix(stores.Provide(store), "apt install ")
		if store == "" {
			want = "redis-server"
		} else if want == stores.Provide(store) {
			want = ""
		}
		for _, installed := range []string{"0", "1"} {
			calls := filepath.Join(t.TempDir(), "calls")
			if code := j.execute(t, j.action.Runs.Steps[at], "PATH="+bin+":"+os.Getenv("PATH"), "CALLS="+calls, "INSTALLED="+installed); code != 0 {
				t.Errorf("%s: exit code %d\n%s", store, code, &j.log)
			}
			said, _ := os.ReadFile(calls) // there is no file if nothing was installed
			if got := strings.Contains(string(said), "install -y -qq --no-install-recommends "+want+"\n"); got != (want != "" && installed == "1") || !got && len(said) > 0 {
				t.Errorf("store %q, dpkg exits with %s: %s", store, installed, said)
			}
		}
	}
}
