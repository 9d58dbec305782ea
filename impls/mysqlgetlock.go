package impls

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"
)

// mysqlGetLock is the lock that the database itself offers: GET_LOCK, held by a session until that gives it back or
// ends. It needs no table and no lease, and nobody but the holder's own server ends it. What is left is that the holder
// has to notice when its session is gone, and the server when its holder is.
func mysqlGetLock() Impl {
	return Impl{
		Name: "mysql-getlock", Store: "mysql", Deployment: "single", Session: true,
		Doc: "GET_LOCK and RELEASE_LOCK on a connection of each hold's own, which is asked for a sign of life while it is held",
		Expect: together(
			threeViews(Holds, "the server gives a name to one session at a time"),
			sessionHeld()),
		Open: func(env Env) (Lock, error) {
			c, err := mysqlConnector(env)
			if err != nil {
				return nil, err
			}
			db := sql.OpenDB(c)
			db.SetMaxIdleConns(-1) // a connection that is let go of is closed
			l, err := newSeats(env, func(ctx context.Context) (seat, error) { return openMySQLSeat(ctx, db) })
			if err != nil {
				return nil, errors.Join(err, db.Close())
			}
			return &mysqlGetLockLock{l, db}, nil
		},
	}
}

type mysqlGetLockLock struct {
	*seats
	db *sql.DB
}

var _ Lock = (*mysqlGetLockLock)(nil)

func (l *mysqlGetLockLock) Close() error {
	err := l.seats.Close()
	if closeErr := l.db.Close(); err == nil {
		err = closeErr
	}
	return err
}

// mysqlSeat is a connection. The name of a lock is hashed at the server: it may have no more than 64 letters, and what
// differs in case only is one name to it.
type mysqlSeat struct {
	conn *sql.Conn
	id   int64
}

var _ seat = (*mysqlSeat)(nil)

func openMySQLSeat(ctx context.Context, db *sql.DB) (seat, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &mysqlSeat{conn: conn}
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *mysqlSeat) name() string { return strconv.FormatInt(s.id, 10) }

// take: MariaDB waits for fractions of a second, too. It answers NULL where something went wrong, which is an error
// of the scan.
func (s *mysqlSeat) take(ctx context.Context, name string, wait time.Duration) (granted bool, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT GET_LOCK(SHA2(?, 256), ?)", name, wait.Seconds()).Scan(&granted)
	return granted, err
}

// give: NULL says that nobody holds the name, 0 that another session does.
func (s *mysqlSeat) give(ctx context.Context, name string) (bool, error) {
	var freed sql.NullBool
	err := s.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(SHA2(?, 256))", name).Scan(&freed)
	return freed.Bool, err
}

func (s *mysqlSeat) ping(ctx context.Context) error { return s.conn.PingContext(ctx) }

func (s *mysqlSeat) end() { _ = s.conn.Close() } // it says goodbye and does not wait for an answer
