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

// MySQLGetLock is the database's user-level lock, held by a session until it is released or the session ends. Remaining
// weaknesses: the holder must detect the end of its session, and the server that of its client.
func MySQLGetLock() impls.Impl {
	return impls.Impl{
		Name: "mysql-getlock", Store: "mysql", Deployment: "single", Session: true,
		Doc: "GET_LOCK and RELEASE_LOCK, one connection for each hold, pinged while held",
		Expect: slices.Concat(
			expect.Excludes("the server grants a name to one session at a time"),
			expect.OpenSession()),
		Open: func(env impls.Env) (impls.Lock, error) {
			c, err := mysqlConnector(env)
			if err != nil {
				return nil, err
			}
			db := sql.OpenDB(c)
			db.SetMaxIdleConns(-1) // released connections are closed
			return &getLock{newSessionLock(env, func(ctx context.Context) (session, error) { return openMySQLSession(ctx, db) }), db}, nil
		},
	}
}

type getLock struct {
	*sessionLock
	db *sql.DB
}

func (l *getLock) Close() error { return errors.Join(l.sessionLock.Close(), l.db.Close()) }

// mysqlSession is a connection. The name of a lock is hashed at the server, because names have at most 64 letters and
// ignore case.
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

// take waits with a resolution below a second, as MariaDB does. NULL means an error, which Scan returns.
func (s *mysqlSession) take(ctx context.Context, name string, wait time.Duration) (granted bool, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT GET_LOCK(SHA2(?, 256), ?)", name, wait.Seconds()).Scan(&granted)
	return granted, err
}

// give releases a name. The server answers NULL if no session holds the name, and 0 if another one does.
func (s *mysqlSession) give(ctx context.Context, name string) (bool, error) {
	var freed sql.NullBool
	err := s.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(SHA2(?, 256))", name).Scan(&freed)
	return freed.Bool, err
}

func (s *mysqlSession) ping(ctx context.Context) error { return s.conn.PingContext(ctx) }

func (s *mysqlSession) End() { _ = s.conn.Close() } // sends a goodbye and does not wait for an answer
