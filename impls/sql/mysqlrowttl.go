package sql

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// MySQLRowTTL is the row with a lease by the server's clock. What is left is that a lease can run out under a holder that does
// not notice.
func MySQLRowTTL() impls.Impl {
	return impls.Impl{
		Name: "mysql-row-ttl", Store: "mysql", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "the row with an expiry by the server's clock, taken over when that is past in one statement",
		Expect: slices.Concat(
			expect.Excludes("the index takes a key once, and one statement decides whether its lease is over"),
			expect.Holds("every holder deletes its row, and what is forgotten expires", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Recovers("holder-kill holder-abandon", "the row expires with its lease, whatever became of its holder"),
			expect.Survives("slow-network partition partition-one-way server-pause", "what is not known to be granted expires, and what comes late frees nobody else's"),
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

// insertOrTakeOver inserts a row, or gives one whose lease is over to another. The assignments are done in order: the end is moved
// if the token was, just before. The count is 1 if the row was inserted, 2 if it was changed, and 0 if it stayed.
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

// Release deletes the row if its lease is not over.
func (l mysqlRowTTLLock) Release(ctx context.Context, g impls.Grant) error {
	return impls.Affected(l.exec(ctx, "DELETE FROM "+lockTable+" WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)", l.name(g.Key), g.Token))
}

// Renew moves the end of a lease that is not over.
func (l mysqlRowTTLLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	err := impls.Affected(l.exec(ctx, `UPDATE `+lockTable+` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)`, g.Validity.Microseconds(), l.name(g.Key), g.Token))
	g.SentAfter = 0
	return g, err
}
