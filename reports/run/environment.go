package run

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
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
	e := Environment{
		OS:    runtime.GOOS,
		Arch:  runtime.GOARCH,
		Cores: runtime.NumCPU(),
		Go:    runtime.Version(),
	}
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
	if kB, ok := strings.CutSuffix(field(proc, "meminfo", "MemTotal"), " kB"); ok {
		if n, err := strconv.ParseInt(kB, 10, 64); err == nil {
			e.Memory = n << 10
		}
	}
	if text, err := fs.ReadFile(proc, "sys/kernel/osrelease"); err == nil {
		e.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := fs.ReadFile(proc, "loadavg"); err == nil {
		e.Load = loadOf(string(text))
	}
}

func loadOf(text string) []float64 {
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil
	}
	var load []float64
	for _, w := range words[:3] {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil
		}
		load = append(load, v)
	}
	return load
}

// field returns the value of the first line "name : value".
func field(proc fs.FS, file, name string) string {
	text, err := fs.ReadFile(proc, file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
