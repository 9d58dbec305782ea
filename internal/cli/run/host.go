package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/impls"
	"lockbench/internal/cli/choice"
	"lockbench/internal/cli/console"
	"lockbench/internal/drive/faults"
	"lockbench/internal/drive/trial"
	"lockbench/internal/fleet"
	"lockbench/reports/run"
)

// TaskKind is the kind of the tasks that run a trial of run, verify or advise.
const TaskKind = "trial"

// job is the body of a task.
type job struct {
	Trial  trial.Task     `json:"trial"`
	Dir    string         `json:"dir"`              // folder of the cell in the folder of the run
	Worker *choice.Worker `json:"worker,omitempty"` // the user's own lock, or a library; nil: a lock of the catalog
}

// answer is the result of a job.
type answer struct {
	Host       string            `json:"host"`
	Server     string            `json:"server"`
	Durability string            `json:"durability"`
	Granted    int64             `json:"granted"`
	Said       string            `json:"said"`       // the results of the trial in one line
	Unexpected bool              `json:"unexpected"` // whether one of them is
	Discarded  string            `json:"discarded,omitempty"`
	Files      map[string][]byte `json:"files,omitempty"` // files of a trial on another machine, by path in the folder of the cell
}

// perform runs the trial of a task. Its folders are created in dir.
func perform(ctx context.Context, s trial.Setting, t trial.Task, lock impls.Impl, dir string) (a answer, err error) {
	var granted atomic.Int64
	out, err := s.TryTask(ctx, t, lock, dir, &granted)
	a = answer{Server: out.Server, Durability: out.Durability, Granted: granted.Load()}
	a.Host, _ = os.Hostname() // "" if it is unknown
	if errors.Is(err, trial.ErrDiscarded) {
		a.Discarded, err = err.Error(), nil
	}
	if out.Verdict != nil {
		a.Said, a.Unexpected = summary(out)
	}
	return a, err
}

// Host runs trials on this machine for coordinators in other processes. Its fields must not be changed after the first task.
type Host struct {
	Work    string   // existing folder for temporary files
	Allowed []string // commands of workers that a coordinator may ask for

	mu    sync.Mutex  // guards users and idle
	users int         // number of trials that run
	idle  *time.Timer // stops the servers after the last trial
	pool  trial.Pool

	describing sync.Mutex // guards locks; held while a worker is installed and tried out, which may take minutes
	locks      map[string]impls.Impl
}

// idleTimeout is the time after which an idle agent stops its servers.
const idleTimeout = 30 * time.Second

// Handler returns the handler for tasks of the kind TaskKind.
func (h *Host) Handler() fleet.Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var j job
		if err := json.Unmarshal(body, &j); err != nil {
			return nil, err
		}
		own, err := trial.OwnWorker()
		if err != nil {
			return nil, err
		}
		defer h.use()()
		lock, err := h.lock(ctx, j)
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(h.Work, "trial-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		a, err := perform(ctx, trial.Setting{Worker: own, Self: own[0], Lend: h.pool.Lend}, j.Trial, lock, dir)
		if err == nil {
			a.Files, err = filesOf(dir)
		}
		return a, err
	}
}

// use notes that a trial runs, and returns a function to call at its end.
func (h *Host) use() (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users++; h.idle != nil {
		h.idle.Stop()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.users--; h.users == 0 {
			h.idle = time.AfterFunc(idleTimeout, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				if h.users == 0 {
					_ = h.pool.Close() // children end with this process at the latest
				}
			})
		}
	}
}

// lock returns the lock of a job. The lock of a worker is described once.
func (h *Host) lock(ctx context.Context, j job) (impls.Impl, error) {
	if j.Worker == nil {
		return choice.Locks.One(j.Trial.Lock)
	}
	text, err := json.Marshal([]any{j.Worker, j.Trial.Servers, j.Trial.LockParams})
	if err != nil {
		return impls.Impl{}, err
	}
	h.describing.Lock()
	defer h.describing.Unlock()
	if own, known := h.locks[string(text)]; known {
		return own, nil
	}
	own, err := j.Worker.OnAgent(ctx, h.Allowed, choice.First{Servers: choice.Servers{How: j.Trial.Servers}, Params: j.Trial.LockParams, TTL: faults.UsualTTL})
	if err == nil {
		if h.locks == nil {
			h.locks = map[string]impls.Impl{}
		}
		h.locks[string(text)] = own
	}
	return own, err
}

// Close stops the servers. It must not be called while a trial runs.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.idle != nil {
		h.idle.Stop()
	}
	return h.pool.Close()
}

// mostReturned is the largest size in bytes of the files of a trial that an agent returns. A message holds 8 MiB.
const mostReturned = 7 << 20

// filesOf returns the files below a folder, by slash-separated path.
func filesOf(dir string) (map[string][]byte, error) {
	all, size := map[string][]byte{}, 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		all[name], size = text, size+len(text)
		return err
	})
	if err == nil && size > mostReturned {
		err = fmt.Errorf("a trial wrote %d bytes, and an agent returns at most %d: run it without agents, or with a shorter --duration", size, mostReturned)
	}
	return all, err
}

// trialFile matches the names of the files of a trial, in the folder of its cell.
var trialFile = regexp.MustCompile(`^[0-9]{3,6}/[a-z]+(\.[a-z]+){1,2}$`)

// store writes the files of a trial that ran on another machine to the folder of its cell.
func (a answer) store(dir string) error {
	for name, text := range a.Files {
		if !trialFile.MatchString(name) {
			return fmt.Errorf("agent on %s returned a file %q", a.Host, name)
		}
		if err := run.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return console.Environment(err, "choose another folder with --out")
		}
	}
	return nil
}
