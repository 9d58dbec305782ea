package sql

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// PostgresAdvisory is an advisory lock of PostgreSQL's, held by a session until that gives it back or ends: the same
// bargain as MySQL's GET_LOCK.
func PostgresAdvisory() impls.Impl {
	return impls.Impl{
		Name: "postgres-advisory", Store: "postgres", Deployment: "single", Session: true,
		Doc: "pg_advisory_lock on a connection of each hold's own, which is asked for a sign of life while it is held",
		Expect: slices.Concat(
			expect.Excludes("the server gives a key to one session at a time"),
			expect.OpenSession()),
		Open: func(env impls.Env) (impls.Lock, error) {
			config, err := postgresConfig(env)
			if err != nil {
				return nil, err
			}
			return newSessionLock(env, func(ctx context.Context) (session, error) { return openPostgresSession(ctx, config) }), nil
		},
	}
}

// postgresConfig connects to the only server of a lock, whatever the environment and files say of other connections.
func postgresConfig(env impls.Env) (*pgx.ConnConfig, error) {
	u, err := env.Server("postgres://user@host:port/database")
	if err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, errors.New("what the environment says of PostgreSQL cannot be read")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return nil, errors.New("the URL of a server has a port that is none")
	}
	c.Host, c.Port, c.Database, c.User = u.Hostname(), uint16(port), strings.Trim(u.Path, "/"), u.User.Username()
	c.Password, _ = u.User.Password()
	c.TLSConfig, c.Fallbacks, c.RuntimeParams = nil, nil, map[string]string{}
	c.ConnectTimeout, c.ValidateConnect = waiting.CommandTimeout, nil
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // one round trip, and nothing is kept at the server
	c.DialFunc = env.Network()
	return c, nil
}

// postgresSession is a connection. A key is 64 bits, which the server makes of a name.
type postgresSession struct {
	unleased
	*pgx.Conn
	raw net.Conn
}

// openPostgresSession connects. The client library would connect once more to have a statement cancelled that is given up: here
// the session ends, and the library's goroutine with it.
func openPostgresSession(ctx context.Context, config *pgx.ConnConfig) (*postgresSession, error) {
	config = config.Copy()
	s := &postgresSession{}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.raw != nil { // nothing listened at an address of the host's before: the next is tried
			return nil, errors.New("a session is one connection")
		}
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		s.raw = raw
		return raw, nil
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s.Conn = conn
	return s, nil
}

func (s *postgresSession) id() string { return strconv.FormatUint(uint64(s.PgConn().PID()), 10) }

// lockNotAvailable is what a statement ends with that has waited for a lock for too long.
const lockNotAvailable = "55P03"

func (s *postgresSession) take(ctx context.Context, name string, wait time.Duration) (granted bool, err error) {
	if wait < time.Millisecond { // the unit of lock_timeout, whose 0 is for ever
		err = s.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", name).Scan(&granted)
		return granted, err
	}
	_, err = s.Exec(ctx, "SELECT set_config('lock_timeout', $2, false), pg_advisory_lock(hashtextextended($1, 0))",
		name, strconv.FormatInt(wait.Milliseconds(), 10))
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != lockNotAvailable {
		return err == nil, err
	}
	// The lock may have been given in the very moment in which the statement was ended; the session keeps it then.
	_, err = s.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	return false, err
}

func (s *postgresSession) give(ctx context.Context, name string) (freed bool, err error) {
	err = s.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", name).Scan(&freed)
	return freed, err
}

func (s *postgresSession) ping(ctx context.Context) error { return s.Ping(ctx) }

// End says goodbye, and closes the connection whatever becomes of that.
func (s *postgresSession) End() {
	ctx, cancel := context.WithTimeout(context.Background(), waiting.AnswerGrace)
	defer cancel()
	_ = s.Conn.Close(ctx)
	_ = s.raw.Close()
	select {
	case <-s.PgConn().CleanupDone():
	case <-ctx.Done():
	}
}
