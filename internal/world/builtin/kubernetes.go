package builtin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
)

// kubernetes runs a stand-in for the API server of Kubernetes, which has only the Lease objects that a leader election
// needs. The arguments are --listen host:port and --dir folder.
func kubernetes(ctx context.Context, args []string, says io.Writer) error {
	flags := flag.NewFlagSet("kubernetes", flag.ContinueOnError)
	flags.SetOutput(says)
	listen := flags.String("listen", "", "host:port")
	dir := flags.String("dir", "", "existing folder for the journal")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *listen == "" || *dir == "" {
		return errors.New("start kubernetes: --listen and --dir are required")
	}
	s, err := openLeases(filepath.Join(*dir, "journal"))
	if err != nil {
		return fmt.Errorf("start kubernetes: %w", err)
	}
	defer s.journal.Close()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("start kubernetes: %w", err)
	}
	server := &http.Server{Handler: s.handler()}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); ctx.Err() == nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	return nil
}
