package sql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"time"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// MySQLGetLock is the user-level lock GET_LOCK. A session holds the lock until the session releases the lock or ends.
// Remaining weaknesses: the holder must detect that its session has ended. The server must detect that a client is gone.
func MySQLGetLock() impls.Impl {
	return impls.Impl{
		Name: "mysql-getlock", Store: "mysql", Deployment: "single", Session: true, ReportsLoss: true,
		Doc: "GET_LOCK and RELEASE_LOCK, one connection for each hold, pinged while held",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Tells(),
			expect.Excludes("the server grants a name to one session at a time"),
			expect.OpenSession()),
		Open: func(env impls.Env) (impls.Lock, error) {
			c, err := mysqlConnector(env)
			if err != nil {
				return nil, err
			}
			db := sql.OpenDB(c)
			db.SetMaxIdleConns(-1) // no idle connections: closing a session closes its connection
			return &getLock{newSessionLock(env, func(ctx context.Context) (session, error) { return openMySQLSession(ctx, db) }), db}, nil
		},
	}
}

type getLock struct {
	*sessionLock
	db *sql.DB
}

func (l *getLock) Close() error { return errors.Join(l.sessionLock.Close(), l.db.Close()) }

// mysqlSession is a connection that may hold one lock. The server hashes lock names, because MySQL's names have at most 64
// characters and ignore case.
type mysqlSession struct {
	unleased
	conn   *sql.Conn
	number int64
}

func openMySQLSession(ctx context.Context, db *sql.DB) (session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &mysqlSession{conn: conn}
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.number); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

func (s *mysqlSession) id() string { return strconv.FormatInt(s.number, 10) }

// take requests the lock with the given name. The server waits for at most the given timeout (parameter wait). MariaDB
// accepts fractions of a second. After an error the server may answer NULL; Scan then returns an error.
func (s *mysqlSession) take(ctx context.Context, name string, wait time.Duration) (granted bool, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT GET_LOCK(SHA2(?, 256), ?)", name, wait.Seconds()).Scan(&granted)
	return granted, err
}

// give releases a name. It returns false if another session holds the name (the server answers 0), or no session does
// (NULL).
func (s *mysqlSession) give(ctx context.Context, name string) (bool, error) {
	var freed sql.NullBool
	err := s.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(SHA2(?, 256))", name).Scan(&freed)
	return freed.Bool, err
}

func (s *mysqlSession) ping(ctx context.Context) error { return s.conn.PingContext(ctx) }

func (s *mysqlSession) End() { _ = s.conn.Close() } // tells the server to end the session, and does not wait for an answer
