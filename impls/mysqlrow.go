package impls

import "context"

// mysqlRow is the lock that every article on databases has: a unique index, of which a row can be inserted once. It
// excludes, and it is on disk; its defect is that nothing deletes the row of a holder that died.
func mysqlRow() Impl {
	return Impl{
		Name: "mysql-row", Control: true, Store: "mysql", Deployment: "single", BackOff: longestPause,
		Doc: "a row under a unique index, inserted to acquire and deleted by its owner: stays for ever when its holder dies",
		Expect: together(
			threeViews(Holds, "the index takes a key once, and only its owner deletes it"),
			expect(Holds, "without a crash every holder deletes its row", "no-orphan", "progress"),
			under("holder-stall process-pause slow-network partition-one-way server-pause",
				threeViews(Holds, "the row has no lease that could run out")),
			under("server-restart", threeViews(Holds, "the row is on disk before the insert is answered")),
			under("partition", expect(Breaks, "the delete of a holder that is cut off is lost, and the row never expires", "no-orphan")),
			under("holder-kill holder-abandon",
				expect(Breaks, "nobody deletes the row of a holder that is gone, and it never expires", "recovery", "no-orphan")),
			in("misuse", expect(Holds, "the row is deleted by its key and its token, in one statement", "owner-release")),
			in("long-hold", expect(Holds, "the row has no lease that could run out", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env Env) (Lock, error) {
			r, err := openRows(env)
			return &mysqlRowLock{r}, err
		},
	}
}

type mysqlRowLock struct{ rows }

var (
	_ Lock   = (*mysqlRowLock)(nil)
	_ Prober = (*mysqlRowLock)(nil)
)

func (l *mysqlRowLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := l.checkName(req.Key); err != nil {
		return Hold{}, err
	}
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		_, err := l.exec(ctx, "INSERT INTO "+lockTable+" (name, token) VALUES (?, ?)", l.name(req.Key), mine)
		if isMySQL(err, duplicateKey) {
			err = ErrBusy
		}
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: Unbounded}, err
	})
}
