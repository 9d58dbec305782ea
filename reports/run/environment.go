package run

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
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
