package postgres

import (
	"context"
	"regexp"
	"strings"

	"lockbench/internal/world/servers"
)

// access finds nothing of a run: what its locks take is gone with their sessions.
func access() *servers.Access {
	return &servers.Access{
		Form: servers.Form{Like: "postgres://user@host:5432/database", Port: "5432", Secret: true,
			Database: regexp.MustCompile(`^[^/]+$`), Ignored: "sslmode=disable",
			Rewrite: func(text string) (string, error) {
				return strings.Replace(text, "postgresql://", "postgres://", 1), nil
			}},
		Version: func(ctx context.Context, t servers.Target, host string) (version string, err error) {
			conn, err := connect(ctx, host, t.Database(), t.User(), t.Password(), servers.ReachWithin)
			if err != nil {
				return "", err
			}
			defer conn.Close(ctx)
			return version, conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
		},
		Names:  func(context.Context, servers.Target, string, func([]string) error) error { return nil },
		Remove: func(context.Context, servers.Target, string) error { return nil },
	}
}
