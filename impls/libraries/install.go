package libraries

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/impls/worker"
)

// installTimeout bounds the installation of one version, which downloads its packages.
const installTimeout = 15 * time.Minute

// MissingToolError is the error for a program that an installation needs and that this machine does not have.
type MissingToolError struct{ Tool, Language string }

func (e *MissingToolError) Error() string {
	return fmt.Sprintf("%s is missing, which installs libraries for %s", e.Tool, e.Language)
}

// Cache returns the folder in which libraries are installed. The environment variable LOCKBENCH_CACHE changes it.
func Cache() (string, error) {
	cache := os.Getenv("LOCKBENCH_CACHE")
	if cache == "" {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("find the cache folder: %w", err)
		}
	}
	return filepath.Join(cache, "lockbench", "libraries"), nil
}

// Install downloads a version of a library, builds its adapter, and returns the folder of both. It does nothing if the same
// version with the same adapter is installed already. It writes the output of the tools to log.
func Install(ctx context.Context, c Choice, log io.Writer) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	in, err := c.ingredients()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, c.Library.Language, c.Library.Name, c.Version.Version)
	one, _ := installing.LoadOrStore(folder, &sync.Mutex{})
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	if done, err := os.ReadFile(filepath.Join(folder, installed)); err == nil && string(done) == in.digest() {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	// Build in a temporary folder, so that an interrupted installation leaves no half of one.
	building, err := os.MkdirTemp(filepath.Dir(folder), c.Version.Version+".building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(building)
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := in.build(ctx, building, log); err != nil {
		return "", fmt.Errorf("install %s %s: %w", c.Library.Name, c.Version.Version, err)
	}
	return folder, errors.Join(os.RemoveAll(folder), os.Chmod(building, 0o755), os.Rename(building, folder))
}

// installing has a mutex for each folder. Two settings of a version share a folder, and replacing it would break a worker that starts.
var installing sync.Map

const installed = "installed" // file with the digest of what was installed

// ingredients holds everything that an installation depends on.
type ingredients struct {
	registry registry
	packages []string          // packages as name:version; the library is the first
	files    map[string][]byte // contents of the adapter and the library for workers, by path
}

func (c Choice) ingredients() (in ingredients, err error) {
	in.packages = slices.Concat([]string{c.Library.Package + ":" + c.Version.Version}, c.Library.With, c.Version.With)
	known := false
	if in.registry, known = registries[c.Library.Registry]; !known {
		return in, fmt.Errorf("%s has the unknown registry %q", c.Library.Name, c.Library.Registry)
	}
	sdk, err := worker.Library(c.Library.Language)
	if err != nil {
		return in, err
	}
	in.files = map[string][]byte{}
	for name, text := range sdk {
		in.files[in.registry.library+name] = text
	}
	err = fs.WalkDir(sources, c.Library.folder(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains([]string{".yaml", ".json"}, filepath.Ext(path)) {
			return err
		}
		in.files[in.registry.adapter+d.Name()], err = sources.ReadFile(path)
		return err
	})
	return in, err
}

// digest returns a hash of the ingredients.
func (in ingredients) digest() string {
	h := sha256.New()
	fmt.Fprintln(h, in.packages)
	for _, name := range slices.Sorted(maps.Keys(in.files)) {
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(in.files[name]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// build writes the files of the adapter to a folder and runs the commands that download the packages and build the adapter.
func (in ingredients) build(ctx context.Context, folder string, log io.Writer) error {
	files := maps.Clone(in.files)
	for name, text := range in.registry.project(in.packages) {
		files[name] = []byte(text)
	}
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := cmp.Or(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return err
		}
	}
	for _, command := range in.registry.commands(in.packages) {
		if err := in.execute(ctx, folder, command, log); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, installed), []byte(in.digest()), 0o644)
}

func (in ingredients) execute(ctx context.Context, folder string, command []string, log io.Writer) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return &MissingToolError{command[0], in.registry.language}
	}
	var said bytes.Buffer
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Dir, run.WaitDelay = folder, 5*time.Second
	run.Stdout, run.Stderr = io.MultiWriter(&said, log), io.MultiWriter(&said, log)
	if err := run.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%s %s: %w: %s", command[0], command[1], err, lines[len(lines)-1])
	}
	return nil
}
