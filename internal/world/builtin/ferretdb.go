package builtin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// ferretDB runs a server for MongoDB's protocol that stores its data in SQLite files. The arguments are --listen host:port
// and --dir folder.
func ferretDB(ctx context.Context, args []string, says io.Writer) error {
	flags := flag.NewFlagSet("ferretdb", flag.ContinueOnError)
	flags.SetOutput(says)
	listen := flags.String("listen", "", "host:port")
	dir := flags.String("dir", "", "existing folder for the SQLite files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *listen == "" || *dir == "" {
		return errors.New("start ferretdb: --listen and --dir are required")
	}
	s, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: *listen},
		// At a lower level, FerretDB would log every closed connection.
		Logger:    slog.New(slog.NewTextHandler(says, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + *dir + "/",
	})
	if err != nil {
		return fmt.Errorf("ferretdb: %w", err)
	}
	return s.Run(ctx)
}
