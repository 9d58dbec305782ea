// Command pglock lets lockbench test PostgreSQL's advisory locks through github.com/jackc/pgx.
package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	worker "lockbench/impls/worker/go"
)

func main() {
	worker.Main(worker.Lock[*pgxpool.Pool, pgx.Tx]{
		Name: "pglock", Doc: "pg_try_advisory_xact_lock through jackc/pgx", Store: "postgres",
		Can: []string{worker.Session}, NotHeld: pgx.ErrTxClosed,
		Open: func(env worker.Env) (*pgxpool.Pool, error) {
			return pgxpool.New(context.Background(), env.Nodes[0]+"?pool_max_conns=20") // each hold needs a connection
		},
		Try:     try,
		Release: func(ctx context.Context, _ *pgxpool.Pool, h worker.Hold[pgx.Tx]) error { return h.Handle.Commit(ctx) },
	})
}

func try(ctx context.Context, pool *pgxpool.Pool, r worker.Request) (g worker.Grant[pgx.Tx], err error) {
	g.Validity = worker.Unbounded
	if g.Handle, err = pool.Begin(ctx); err != nil {
		return g, err
	}
	var granted bool
	err = g.Handle.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))", r.Key).Scan(&granted)
	if err == nil && !granted {
		err = worker.ErrBusy
	}
	if err != nil {
		_ = g.Handle.Rollback(context.WithoutCancel(ctx)) // an error closes the connection, which also ends the transaction
	}
	return g, err
}
