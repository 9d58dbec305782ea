package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"lockbench/impls/worker"
	"lockbench/internal/cli/console"
)

func newWorkerCommand() *cobra.Command {
	var language, out string
	cmd := &cobra.Command{
		Use:   "new-worker --language LANGUAGE",
		Short: "Write a worker that runs, to test your own lock with",
		Long: `new-worker writes a folder with a worker for your own lock: an adapter, the library that speaks the
worker protocol, and a build file. The adapter tests a plain lock on Redis and runs as it is; put
your own lock in its place (docs/your-own-lock.md). The languages are python, node, java, rust, go.

  lockbench new-worker --language python
  lockbench new-worker --language go --out my-lock`,
		Args: console.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := templateOf(language)
			if err != nil {
				return err
			}
			dir := cmp.Or(out, "lockbench-worker-"+language)
			if err := writeWorker(dir, t); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), `%s tests a plain lock on Redis. Put your own lock in %s.

install  cd %s && %s
run      lockbench run --worker %s --faults process-pause,holder-kill
verify   lockbench verify --worker %[5]s
`, dir, filepath.Join(dir, t.Adapter), worker.ShellWord(dir), t.Install, worker.ShellWord(t.Command))
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&language, "language", "", "language of the worker: python, node, java, rust, go")
	cmd.Flags().StringVar(&out, "out", "", "folder for the worker (lockbench-worker-<language>)")
	return cmd
}

func templateOf(language string) (worker.Template, error) {
	if language == "" {
		return worker.Template{}, console.Usage(errors.New("new-worker needs --language"), "lockbench new-worker --language python")
	}
	all := worker.Templates()
	i := slices.IndexFunc(all, func(t worker.Template) bool { return t.Language == language })
	if i < 0 {
		var known []string
		for _, t := range all {
			known = append(known, t.Language)
		}
		return worker.Template{}, console.Unknown("language", language, known)
	}
	return all[i], nil
}

// writeWorker writes the files of a template to a new folder.
func writeWorker(dir string, t worker.Template) error {
	const hint = "choose another folder with --out"
	files, err := t.Files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return console.Environment(err, hint)
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return console.Usage(fmt.Errorf("%s exists already", dir), hint)
	} else if err != nil {
		return console.Environment(err, hint)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			return console.Environment(err, hint)
		}
	}
	return nil
}
