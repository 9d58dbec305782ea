package sql

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// MySQLRow stores each lock as a row under a unique index, as in most articles on databases. Its defect is that nothing
// deletes the row of a dead holder.
func MySQLRow() impls.Impl {
	return impls.Impl{
		Name: "mysql-row", Control: true, Store: "mysql", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "a row under a unique index, inserted to acquire and deleted by its owner: stays forever if its holder dies",
		Expect: slices.Concat(
			expect.Excludes("the index allows a key once, and only its owner deletes it"),
			expect.Holds("without a crash every holder deletes its row", "no-orphan", "progress"),
			expect.Under("holder-stall process-pause slow-network partition-one-way server-pause",
				expect.Excludes("the row has no lease that could expire")),
			expect.Under("server-restart", expect.Excludes("the row is on disk before the insert is answered")),
			expect.Under("partition", expect.Violated("the delete of a partitioned holder is lost, and the row never expires", "no-orphan")),
			expect.Under("holder-kill holder-abandon",
				expect.Violated("nothing deletes the row of a dead holder, and it never expires", "recovery", "no-orphan")),
			expect.In("misuse", expect.Holds("the row is deleted by its key and its token, in one statement", "owner-release")),
			expect.In("long-hold", expect.Holds("the row has no lease that could expire", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env impls.Env) (impls.Lock, error) {
			return openRows(env)
		},
	}
}

// Acquire inserts a row that never expires.
func (r rows) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return r.acquire(ctx, req, impls.Unbounded, "INSERT INTO "+lockTable+" (name, token) VALUES (?, ?)")
}
