package choice

import (
	"context"
	"errors"
	"fmt"
	"io"

	"lockbench/impls/libraries"
	"lockbench/internal/cli/console"
	"lockbench/internal/suggest"
)

// Library returns the version of a library that a reference selects, as NAME or NAME@VERSION.
func Library(reference string) (libraries.Choice, error) {
	c, err := libraries.Find(reference)
	var unknown *libraries.UnknownError
	if errors.As(err, &unknown) {
		err = console.Usage(fmt.Errorf("%w%s", err, suggest.Meant(unknown.Name, unknown.Known)), "lockbench libraries lists them")
	}
	return c, err
}

// InstallLibrary installs a version of a library, shows progress on stderr, and returns the folder of the
// installation. It writes the output of the tools to log.
func InstallLibrary(ctx context.Context, stderr io.Writer, c libraries.Choice, log io.Writer) (string, error) {
	live := console.NewLive(stderr, func() string { return fmt.Sprintf("installing %s", c) })
	folder, err := libraries.Install(ctx, c, log)
	live.Close()
	var missing *libraries.MissingToolError
	switch {
	case errors.As(err, &missing):
		err = console.Environment(err, "install "+missing.Tool+", or choose a library for another language")
	case err != nil:
		err = console.Environment(err, fmt.Sprintf("is the version in the registry? lockbench libraries install %s --verbose shows the output of the tools", c))
	}
	return folder, err
}
