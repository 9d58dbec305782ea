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

// PostgresAdvisory is an advisory lock of PostgreSQL. A session holds the lock until the session releases the lock or ends.
func PostgresAdvisory() impls.Impl {
	return impls.Impl{
		Name: "postgres-advisory", Store: "postgres", Deployment: "single", Session: true, ReportsLoss: true,
		Doc: "pg_advisory_lock, one connection for each hold, pinged while held",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Tells(),
			expect.Excludes("the server grants a key to one session at a time"),
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

// postgresConfig returns the configuration for the lock's only server. It ignores environment variables and PostgreSQL's
// configuration files.
func postgresConfig(env impls.Env) (*pgx.ConnConfig, error) {
	u, err := env.Server("postgres://user@host:port/database")
	if err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig("host=localhost sslmode=disable")
	if err != nil {
		return nil, errors.New("parse the PostgreSQL settings of the environment: invalid")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return nil, errors.New("parse the URL of a server: invalid port")
	}
	c.Host, c.Port, c.Database, c.User = u.Hostname(), uint16(port), strings.Trim(u.Path, "/"), u.User.Username()
	c.Password, _ = u.User.Password()
	c.TLSConfig, c.Fallbacks, c.RuntimeParams = nil, nil, map[string]string{}
	c.ConnectTimeout, c.ValidateConnect = waiting.CommandTimeout, nil
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // one round trip, without a prepared statement
	c.DialFunc = env.Network()
	return c, nil
}

// postgresSession is a connection that may hold one lock. The server hashes lock names into keys of 64 bits.
type postgresSession struct {
	unleased
	*pgx.Conn
	raw net.Conn
}

// openPostgresSession connects to the server. To cancel a statement, the client library would open a second connection.
// Here the second connection is refused, so the session ends instead.
func openPostgresSession(ctx context.Context, config *pgx.ConnConfig) (*postgresSession, error) {
	config = config.Copy()
	s := &postgresSession{}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s.raw != nil { // the library opens another connection, either to try the host's next address or to send a cancel request
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

// lockNotAvailable is the error code of a statement whose wait for a lock timed out.
const lockNotAvailable = "55P03"

func (s *postgresSession) take(ctx context.Context, name string, wait time.Duration) (granted bool, err error) {
	if wait < time.Millisecond { // lock_timeout is in milliseconds; 0 means no limit
		err = s.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", name).Scan(&granted)
		return granted, err
	}
	_, err = s.Exec(ctx, "SELECT set_config('lock_timeout', $2, false), pg_advisory_lock(hashtextextended($1, 0))",
		name, strconv.FormatInt(wait.Milliseconds(), 10))
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != lockNotAvailable {
		return err == nil, err
	}
	// The lock may have been granted while the statement was cancelled. The session would then still hold the lock.
	_, err = s.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	return false, err
}

func (s *postgresSession) give(ctx context.Context, name string) (freed bool, err error) {
	err = s.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", name).Scan(&freed)
	return freed, err
}

func (s *postgresSession) ping(ctx context.Context) error { return s.Ping(ctx) }

// End asks the server to end the session. It closes the connection even if this fails.
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
