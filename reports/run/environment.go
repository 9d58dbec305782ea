package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Environment is the machine and the software on which a run took place. What could not be found out is
// left empty.
type Environment struct {
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	CPU       string    `json:"cpu,omitempty"` // model name
	Cores     int       `json:"cores"`         // logical processors usable by this process
	Memory    int64     `json:"memory_bytes,omitempty"`
	Kernel    string    `json:"kernel,omitempty"`
	Go        string    `json:"go"`
	Lockbench string    `json:"lockbench,omitempty"` // revision, with "+changes" where the tree was not clean
	Load      []float64 `json:"load,omitempty"`      // averages over 1, 5 and 15 minutes when the run began
	Server    string    `json:"server,omitempty"`    // product, version and how it was brought up, of each store; the command's to fill in

	Stores []StoreDoc `json:"stores,omitempty"` // in display order; the command's to fill in
}

// Collect finds out the environment; it never fails. Server is left for the caller.
func Collect() Environment {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		e.Lockbench = revision(info)
	}
	if runtime.GOOS == "linux" {
		e.readProc(os.DirFS("/proc"))
	}
	return e
}

func revision(info *debug.BuildInfo) string {
	var rev, changes string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changes = "+changes"
		}
	}
	if rev == "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return rev + changes
}

// readProc reads what Linux tells in /proc; a file that is missing or reads otherwise is skipped.
func (e *Environment) readProc(proc fs.FS) {
	e.CPU = field(proc, "cpuinfo", "model name")
	var kB int64
	if n, _ := fmt.Sscanf(field(proc, "meminfo", "MemTotal"), "%d kB", &kB); n == 1 {
		e.Memory = kB << 10
	}
	kernel, _ := fs.ReadFile(proc, "sys/kernel/osrelease")
	e.Kernel = strings.TrimSpace(string(kernel))
	load := make([]float64, 3)
	averages, _ := fs.ReadFile(proc, "loadavg")
	if _, err := fmt.Sscan(string(averages), &load[0], &load[1], &load[2]); err == nil {
		e.Load = load
	}
}

// field returns the value of the first line "name : value".
func field(proc fs.FS, file, name string) string {
	text, _ := fs.ReadFile(proc, file)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Manifest is what is known of a run beside its trials: what was planned, on what, and how to do it again.
type Manifest struct {
	Version     int         `json:"lockbench_run"` // set by WriteManifest
	Name        string      `json:"name"`
	Started     time.Time   `json:"started,omitzero"`
	Ended       time.Time   `json:"ended,omitzero"` // zero: the run did not come to its end
	Interrupted bool        `json:"interrupted,omitempty"`
	Command     string      `json:"command"` // the one line that reproduces the run, without secrets
	Seed        uint64      `json:"seed"`
	Servers     string      `json:"servers"` // how the servers were brought up: Embedded, Local, ...
	Environment Environment `json:"environment"`
	Parameters  []Parameter `json:"parameters,omitempty"` // in display order
	Notes       []string    `json:"notes,omitempty"`      // what a reader must know: part of the conditions
	Warnings    []string    `json:"warnings,omitempty"`   // what went otherwise than it should
	Locks       []LockDoc   `json:"locks,omitempty"`
	Scenarios   []Scenario  `json:"scenarios,omitempty"` // in display order; the claims are grouped by them where there are any
	Plan        []Cell      `json:"plan"`                // in display order
}

// How the servers of a run were brought up, as far as the page makes a difference.
const (
	Embedded = "embedded" // an emulator within the process: latencies compare with nothing
	Local    = "local"    // a child process on this machine
)

// Parameter is one setting of a run: `ttl`, `1s`, `the lease each client asks for`.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Text  string `json:"text,omitempty"` // what it means, for people
}

// LockDoc is one sentence on a lock.
type LockDoc struct {
	Name       string `json:"name"`
	Doc        string `json:"doc"`
	Deployment string `json:"deployment,omitempty"` // its usual one
	Control    bool   `json:"control,omitempty"`    // it is here for its defect, and stands for nothing
}

// Scenario is a way in which locks are known to fail, driven on purpose: several cells, each with its expectations.
type Scenario struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Warning string `json:"warning,omitempty"` // what it warns of
	Doc     string `json:"doc,omitempty"`     // a paragraph
}

// Cell is one planned combination. Its trials are the folders 001, 002, ... in Dir.
type Cell struct {
	Dir        string `json:"dir"` // in the run folder, with slashes: <lock>/<workload>+<fault>; it tells cells apart
	Lock       string `json:"lock"`
	Deployment string `json:"deployment,omitempty"`
	Workload   string `json:"workload"`
	Fault      string `json:"fault"`              // "none" where nothing is injected
	Scenario   string `json:"scenario,omitempty"` // that it belongs to
	// Concurrent: its trials ran beside others, so that its times are not compared with those of other cells.
	Concurrent bool `json:"concurrent,omitempty"`
}

// WriteManifest writes run.json, replacing an earlier one at once: a reader sees the old or the new.
func WriteManifest(dir string, m Manifest) error {
	m.Version = manifestVersion
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return WriteJSON(filepath.Join(dir, ManifestName), m)
}

// ReadManifest reads run.json. Unknown fields, a newer version, and cells outside the folder are errors.
func ReadManifest(dir string) (m Manifest, err error) {
	file := filepath.Join(dir, ManifestName)
	text, err := os.ReadFile(file)
	if err != nil {
		return m, fmt.Errorf("manifest of the run: %w", err)
	}
	if m, err = parseManifest(text); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

func parseManifest(text []byte) (m Manifest, err error) {
	// The version comes first and alone: a newer manifest may hold what this version cannot read.
	if err := json.Unmarshal(text, &struct {
		Version *int `json:"lockbench_run"`
	}{&m.Version}); err != nil {
		return m, err
	}
	if m.Version < 1 || m.Version > manifestVersion {
		return m, fmt.Errorf("the manifest has version %d, this lockbench reads version 1 to %d", m.Version, manifestVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, err
	}
	return m, m.check()
}

func (m *Manifest) check() error {
	scenarios := map[string]bool{"": true}
	for _, s := range m.Scenarios {
		if scenarios[s.Name] {
			return fmt.Errorf("scenario %q: it has no name, or one that stands twice", s.Name)
		}
		scenarios[s.Name] = true
	}
	seen := map[string]bool{}
	for _, c := range m.Plan {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(c.Dir)) || path.Clean(c.Dir) != c.Dir || strings.Contains(c.Dir, `\`) || c.Dir == ".":
			return fmt.Errorf("cell %q: want a clean path within the run folder, with slashes", c.Dir)
		case c.Lock == "" || c.Workload == "":
			return fmt.Errorf("cell %q: it needs a lock and a workload", c.Dir)
		case !scenarios[c.Scenario]:
			return fmt.Errorf("cell %q: its scenario %q is not one of the run's", c.Dir, c.Scenario)
		case seen[c.Dir]:
			return fmt.Errorf("cell %q stands twice in the plan", c.Dir)
		case c.Dir == "report" || strings.HasPrefix(c.Dir, "report/"):
			return errors.New(`"report" is the folder of the page, not of a cell`)
		}
		seen[c.Dir] = true
	}
	return nil
}
