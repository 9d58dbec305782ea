package sql

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// MySQLRowTTL is the lock mysql-row with a lease by the server's clock. Remaining weakness: the lease can expire during a
// hold, and the holder does not notice.
func MySQLRowTTL() impls.Impl {
	return impls.Impl{
		Name: "mysql-row-ttl", Store: "mysql", Deployment: "single", Extends: true, BackOff: waiting.LongestPause,
		Doc: "the row with an expiry by the server's clock; one statement takes over an expired row",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Backed(),
			expect.Excludes("the index allows a key once, and one statement decides whether its lease has expired"),
			expect.Holds("every holder deletes its row, and other rows expire", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Recovers("holder-kill holder-abandon", "the row expires without its holder"),
			expect.Survives("slow-network partition partition-one-way server-pause", "an unknown grant expires, and a late release frees no other client's row"),
			expect.Survives("server-restart", "the row and the end of its lease are on disk before the insert is answered"),
			expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) {
			r, err := openRows(env)
			return mysqlRowTTLLock{r}, err
		},
	}
}

type mysqlRowTTLLock struct{ rows }

var _ impls.Renewer = mysqlRowTTLLock{}

// insertOrTakeOver inserts a row, or takes over an expired row. MySQL executes the assignments in order: the second one
// compares the token that the first one has set. The expiry therefore changes only if the token has changed. The number
// of affected rows is 1 for an insert, 2 for a take-over, and otherwise 0.
const insertOrTakeOver = `INSERT INTO ` + lockTable + ` (name, token, expires)
	VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
	ON DUPLICATE KEY UPDATE
	token = IF(expires <= UTC_TIMESTAMP(6), VALUES(token), token),
	expires = IF(token = VALUES(token), VALUES(expires), expires)`

func (l mysqlRowTTLLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	return l.acquire(ctx, req, req.TTL, insertOrTakeOver, req.TTL.Microseconds())
}

// Release deletes the row if its lease has not expired.
func (l mysqlRowTTLLock) Release(ctx context.Context, g impls.Grant) error {
	return impls.Affected(l.exec(ctx, "DELETE FROM "+lockTable+" WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)", l.name(g.Key), g.Token))
}

// Renew extends a lease that has not expired.
func (l mysqlRowTTLLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	err := impls.Affected(l.exec(ctx, `UPDATE `+lockTable+` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)`, g.Validity.Microseconds(), l.name(g.Key), g.Token))
	g.SentAfter = 0
	return g, err
}
