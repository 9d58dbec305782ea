package impls

import (
	"context"
	"errors"
)

// mysqlRowTTL is the row with a lease: it says when it ends by the server's clock, and whoever asks after that takes it
// over, in one statement. What is left is that a lease can run out under a holder that does not notice.
func mysqlRowTTL() Impl {
	return Impl{
		Name: "mysql-row-ttl", Store: "mysql", Deployment: "single", BackOff: longestPause,
		Doc: "the row with an expiry by the server's clock, taken over when that is past in one statement",
		Expect: together(
			threeViews(Holds, "the index takes a key once, and one statement decides whether its lease is over"),
			expect(Holds, "every holder deletes its row, and what is forgotten expires", "no-orphan", "progress"),
			lateHolder("holder-stall process-pause"),
			recovers("holder-kill holder-abandon", "the row expires with its lease, whatever became of its holder"),
			survives("slow-network partition partition-one-way server-pause", "what is not known to be granted expires, and what comes late frees nobody else's"),
			survives("server-restart", "the row and the end of its lease are on disk before the insert is answered"),
			comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			r, err := openRows(env)
			return &mysqlRowTTLLock{r}, err
		},
	}
}

type mysqlRowTTLLock struct{ rows }

var (
	_ Lock    = (*mysqlRowTTLLock)(nil)
	_ Renewer = (*mysqlRowTTLLock)(nil)
	_ Prober  = (*mysqlRowTTLLock)(nil)
)

// insertOrTakeOver inserts a row, or gives one whose lease is over to another. The assignments are done in order: the
// end is moved where the token was, just before. A row is counted once where it was inserted, twice where it was
// changed, and not where it stayed as it was; one without a lease stays.
const insertOrTakeOver = `INSERT INTO ` + lockTable + ` (name, token, expires)
	VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
	ON DUPLICATE KEY UPDATE
	token = IF(expires <= UTC_TIMESTAMP(6), VALUES(token), token),
	expires = IF(token = VALUES(token), VALUES(expires), expires)`

func (l *mysqlRowTTLLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := errors.Join(checkTTL(req.TTL), l.checkName(req.Key)); err != nil {
		return Hold{}, err
	}
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		changed, err := l.exec(ctx, insertOrTakeOver, l.name(req.Key), mine, req.TTL.Microseconds())
		if err == nil && changed == 0 {
			err = ErrBusy
		}
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, err
	})
}

// Release deletes the row of a lease that is not over. One that is over is nobody's: it stays for who takes it over.
func (l *mysqlRowTTLLock) Release(ctx context.Context, g Grant) error {
	return notHeldIfNone(l.exec(ctx, "DELETE FROM "+lockTable+" WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)", l.name(g.Key), g.Token))
}

// Renew moves the end of a lease that is not over.
func (l *mysqlRowTTLLock) Renew(ctx context.Context, g Grant) (Grant, error) {
	err := notHeldIfNone(l.exec(ctx, `UPDATE `+lockTable+` SET expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND token = ? AND expires > UTC_TIMESTAMP(6)`, g.Validity.Microseconds(), l.name(g.Key), g.Token))
	g.SentAfter = 0
	return g, err
}
