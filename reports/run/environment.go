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

// Environment describes the machine and the software of a run. Unknown values are empty.
type Environment struct {
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	CPU       string    `json:"cpu,omitempty"` // model name of the processor
	Cores     int       `json:"cores"`         // number of logical processors that this process can use
	Memory    int64     `json:"memory_bytes,omitempty"`
	Kernel    string    `json:"kernel,omitempty"`
	Go        string    `json:"go"`
	Lockbench string    `json:"lockbench,omitempty"` // revision of lockbench, with "+changes" if the working tree was not clean
	Load      []float64 `json:"load,omitempty"`      // load averages over 1, 5 and 15 minutes at the start of the run
	Server    string    `json:"server,omitempty"`    // product, version and kind of each store's server, such as "redis 7.0.15 (local)"; not set by Collect

	Stores []StoreDoc `json:"stores,omitempty"` // stores in display order; not set by Collect
}

// Collect returns a description of this machine and of lockbench. It leaves Server and Stores empty.
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

// readProc sets the CPU, memory, kernel and load from the files in /proc. It ignores missing or malformed files.
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

// field returns the value of a name in a file with lines of the form "name : value".
func field(proc fs.FS, file, name string) string {
	text, _ := fs.ReadFile(proc, file)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Manifest holds the content of run.json: the plan of a run, its environment, and the command that reproduces it.
type Manifest struct {
	Version     int         `json:"lockbench_run"` // format version, set by WriteManifest
	Name        string      `json:"name"`
	Started     time.Time   `json:"started,omitzero"`
	Ended       time.Time   `json:"ended,omitzero"` // end time; zero if the run did not end
	Interrupted bool        `json:"interrupted,omitempty"`
	Command     string      `json:"command"` // command line that reproduces the run, without secrets
	Seed        uint64      `json:"seed"`
	Servers     string      `json:"servers"` // how the servers were started: Embedded, Local, ...
	Environment Environment `json:"environment"`
	Parameters  []Parameter `json:"parameters,omitempty"` // parameters of the run, in display order
	Notes       []string    `json:"notes,omitempty"`      // conditions that readers of the report must know
	Warnings    []string    `json:"warnings,omitempty"`   // problems that occurred during the run
	Locks       []LockDoc   `json:"locks,omitempty"`
	Scenarios   []Scenario  `json:"scenarios,omitempty"` // known failure modes that were tested; if there are any, the report groups results by scenario
	Plan        []Cell      `json:"plan"`                // planned combinations of lock, workload and fault, in display order
}

// Values of Manifest.Servers with a special meaning for the report.
const (
	Embedded = "embedded" // emulators within the lockbench process; latencies cannot be compared with those of real servers
	Local    = "local"    // server processes started on this machine
)

// Parameter is one setting of a run, such as the name `ttl` with the value `1s`.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Text  string `json:"text,omitempty"` // meaning of the parameter
}

// LockDoc describes a lock in one sentence.
type LockDoc struct {
	Name       string `json:"name"`
	Doc        string `json:"doc"`
	Deployment string `json:"deployment,omitempty"` // usual deployment of the lock
	Control    bool   `json:"control,omitempty"`    // whether the lock is known to be broken
}

// Scenario is a known failure mode of locks, tested with several combinations of lock, workload and fault.
type Scenario struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Warning string `json:"warning,omitempty"` // published warning about the failure mode
	Doc     string `json:"doc,omitempty"`     // description of the failure mode, in one paragraph
}

// Cell is one planned combination of lock, workload and fault. Its trials are in the folders 001, 002, ... of Dir.
type Cell struct {
	Dir        string `json:"dir"` // unique folder within the run folder, with slashes: <lock>/<workload>+<fault>
	Lock       string `json:"lock"`
	Deployment string `json:"deployment,omitempty"`
	Workload   string `json:"workload"`
	Fault      string `json:"fault"`              // name of the injected fault, or "none"
	Scenario   string `json:"scenario,omitempty"` // name of the scenario, if any
	// Concurrent states whether other trials ran at the same time as these trials. Latencies of such trials are not compared
	// with other latencies.
	Concurrent bool `json:"concurrent,omitempty"`
}

// WriteManifest writes run.json atomically. It replaces an existing file.
func WriteManifest(dir string, m Manifest) error {
	m.Version = manifestVersion
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return WriteJSON(filepath.Join(dir, ManifestName), m)
}

// ReadManifest reads run.json. It returns an error if the file has unknown fields, a newer version, or a path outside
// the run folder.
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
	// The version is read first: a newer manifest may have fields that this version cannot read.
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
			return fmt.Errorf("scenario %q: the name is empty or not unique", s.Name)
		}
		scenarios[s.Name] = true
	}
	seen := map[string]bool{}
	for _, c := range m.Plan {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(c.Dir)) || path.Clean(c.Dir) != c.Dir || strings.Contains(c.Dir, `\`) || c.Dir == ".":
			return fmt.Errorf("cell %q: want a clean path within the run folder, with slashes", c.Dir)
		case c.Lock == "" || c.Workload == "":
			return fmt.Errorf("cell %q: the lock or the workload is missing", c.Dir)
		case !scenarios[c.Scenario]:
			return fmt.Errorf("cell %q: the run has no scenario %q", c.Dir, c.Scenario)
		case seen[c.Dir]:
			return fmt.Errorf("cell %q: the plan has it twice", c.Dir)
		case c.Dir == "report" || strings.HasPrefix(c.Dir, "report/"):
			return errors.New(`"report" is the folder of the page, not of a cell`)
		}
		seen[c.Dir] = true
	}
	return nil
}
