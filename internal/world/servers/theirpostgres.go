package servers

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// theirPostgres has nothing of a run: what its locks take is gone with their sessions.
func theirPostgres() theirs {
	return theirs{
		store: Postgres,
		version: func(ctx context.Context, t Target, host string) (version string, err error) {
			c, err := t.postgresConfig(host)
			if err != nil {
				return "", err
			}
			conn, err := pgx.ConnectConfig(ctx, c)
			if err != nil {
				return "", err
			}
			defer conn.Close(ctx)
			return version, conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
		},
		names:  func(context.Context, Target, string) ([]string, error) { return nil, nil },
		remove: func(context.Context, Target, string) error { return nil },
	}
}

func (t Target) postgresConfig(host string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil { // its text may quote what the environment has
		return nil, errors.New("what the environment says of PostgreSQL cannot be read")
	}
	name, number, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return nil, errors.New("its port is no number")
	}
	c.Host, c.Port, c.Database, c.User, c.Password = name, uint16(port), t.database, t.user, t.password
	c.TLSConfig, c.Fallbacks, c.RuntimeParams = nil, nil, map[string]string{}
	c.ConnectTimeout = reachWithin
	return c, nil
}
