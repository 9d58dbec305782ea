package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/checker/properties"
	"lockbench/impls/libraries"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/fleet"
	"lockbench/internal/world/children"
	"lockbench/reports/campaign"
	"lockbench/reports/format"
	"lockbench/reports/matrix"
	"lockbench/reports/run"
)

// TaskKind is the kind of the tasks that test a version.
const TaskKind = "matrix"

// job is the body of a task: it tests one version of a library in one setting.
type job struct {
	Library string `json:"library"` // as SETTING@VERSION
	Profile string `json:"profile"`
	Out     string `json:"out"` // folder of the results, which commands in the result name
}

// answer is the result of a job.
type answer struct {
	Result *matrix.Result    `json:"result"`
	Files  map[string][]byte `json:"files,omitempty"` // counterexamples, by file name
}

// Handler returns the handler for tasks of the kind TaskKind. Histories and logs are written to work. The function step, which may
// be nil, is called at the beginning of each step, and with an empty name after the last one.
func Handler(work string, step func(version, name string)) fleet.Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var j job
		if err := json.Unmarshal(body, &j); err != nil {
			return nil, err
		}
		c, err := choice.Library(j.Library)
		if err != nil {
			return nil, err
		}
		if profiles[j.Profile].Name == "" {
			return nil, fmt.Errorf("there is no profile %q", j.Profile)
		}
		keeper, err := children.New()
		if err != nil {
			return nil, err
		}
		t := &test{job: j, keeper: keeper, choice: c, dir: filepath.Join(work, c.String()), files: map[string][]byte{}, step: func(name string) {
			if step != nil {
				step(c.String(), name)
			}
		}}
		r, err := t.run(ctx)
		t.step("")
		return answer{r, t.files}, errors.Join(err, keeper.Close(), ctx.Err())
	}
}

// testAll tests versions and writes their results. This process tests --jobs at once.
func (f *flags) testAll(ctx context.Context, todo []libraries.Choice, stderr io.Writer) error {
	var now sync.Map // choices that this process tests, with their current steps
	var done, violating atomic.Int64
	began := time.Now()
	handlers := fleet.Handlers{TaskKind: Handler(f.work, func(version, step string) {
		if now.Store(version, step); step == "" {
			now.Delete(version)
		}
	})}
	queue, err := f.fleet.Open(ctx, f.work, "", f.jobs, handlers, func(text string) { console.Note(stderr, text) })
	if err != nil {
		return err
	}
	state, err := campaign.Keep(f.work, func() campaign.State {
		return campaign.State{Verb: "matrix", What: format.Plural(len(todo), "version"), Unit: "version", Done: int(done.Load()), Planned: len(todo),
			Found: format.Plural(int(violating.Load()), "version") + " with a violation", UnderWay: tested(&now), Agents: choice.Agents(queue)}
	})
	if err != nil {
		return errors.Join(err, queue.Close(true))
	}
	live := console.NewLive(stderr, func() string {
		return strings.Trim(progress(&now, int(done.Load()), len(todo), time.Since(began))+"; "+choice.Members(queue), "; ")
	})
	var all errgroup.Group
	for _, c := range todo {
		turn, err := queue.Turn(ctx)
		if err != nil {
			break // interrupted: what was tested is shown
		}
		all.Go(func() error {
			defer turn()
			defer done.Add(1)
			r, err := f.test(ctx, queue, c)
			if ctx.Err() == nil && err == nil {
				live.Print(summary(r))
				violating.Add(int64(min(1, len(r.Failed()))))
			}
			return err
		})
	}
	err = all.Wait()
	live.Close()
	err = errors.Join(err, state.End(ctx.Err() != nil, ""))
	if err = errors.Join(err, queue.Close(true)); ctx.Err() != nil {
		return nil
	}
	return err
}

// testLimit bounds the test of a version, with its installation.
const testLimit = 40 * time.Minute

// test lets an agent test a version, and writes its result.
func (f *flags) test(ctx context.Context, queue *fleet.Coordinator, c libraries.Choice) (*matrix.Result, error) {
	a, err := fleet.Do[answer](ctx, queue, TaskKind, c.String(), job{c.String(), f.profile, f.out}, testLimit)
	if err != nil {
		return nil, err
	}
	if want := describe(c).FileName(); a.Result == nil || a.Result.FileName() != want {
		return nil, fmt.Errorf("an agent did not return a result for %s", c)
	}
	prefix := strings.TrimSuffix(filepath.Base(a.Result.FileName()), ".json") + "-"
	if err := removeCounterexamples(filepath.Join(f.out, a.Result.Library, prefix)); err != nil {
		return nil, err
	}
	for name, text := range a.Files {
		if !strings.HasPrefix(name, prefix) || name != filepath.Base(name) {
			return nil, fmt.Errorf("an agent returned a file %q for %s", name, c)
		}
		if err := run.WriteFile(filepath.Join(f.out, a.Result.Library, name), text); err != nil {
			return nil, err
		}
	}
	return a.Result, run.WriteJSON(filepath.Join(f.out, a.Result.FileName()), a.Result)
}

// removeCounterexamples removes the files of counterexamples from an earlier test, which no result names any longer. The files of another
// setting of the version begin with the same prefix, but not with the name of a property after it.
func removeCounterexamples(prefix string) error {
	for _, p := range properties.All() {
		stale, err := filepath.Glob(prefix + p.Name + "*")
		if err != nil {
			return err
		}
		for _, file := range stale {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// tested lists what is tested now, with its current step.
func tested(now *sync.Map) (all []string) {
	now.Range(func(name, step any) bool {
		all = append(all, fmt.Sprintf("%s: %s", name, step))
		return true
	})
	slices.Sort(all)
	return all
}

// progress describes what is tested now, and estimates the time left.
func progress(now *sync.Map, done, all int, took time.Duration) string {
	text := fmt.Sprintf("%d of %d versions", done, all)
	if done > 0 {
		text += fmt.Sprintf(", about %s left", (took / time.Duration(done) * time.Duration(all-done)).Round(time.Minute))
	}
	return text + "; " + strings.Join(tested(now), ", ")
}

// summary describes a result in one line.
func summary(r *matrix.Result) string {
	passed, asked := r.Tally()
	text := fmt.Sprintf("%s@%s  %d of %d questions, %.0f s", r.Setting, r.Version, passed, asked, r.Seconds)
	if failed := r.Failed(); len(failed) > 0 {
		text += "  violated: " + strings.Join(failed, ", ")
	}
	if r.NotRun != "" {
		text += "  not run: " + r.NotRun
	}
	return text
}
