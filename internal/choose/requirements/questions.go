package requirements

type question struct {
	of   string   // what the answers are called together
	keys []string // paths; answers stand in this order
	text string
	why  string
	more string
}

// questions are all that is asked, in order: whether a lock is needed at all comes before what it has to do. Only `commands`
// is left to the file.
func questions() []question {
	return []question{
		{"if_two_hold", []string{"if_two_hold"},
			"What becomes of it if two hold the lock at once: corruption or wasted-work?",
			"where two do harm, no speed makes up for a lock that lets two in.",
			"corruption: wrong data, money, stock; it must not happen. wasted-work: something is done twice, which costs time and nothing else."},
		{"instead", []string{"instead"},
			"Could something decide it without a lock: idempotent, compare-and-set, database-row, or none?",
			"what needs no lock cannot be harmed by one that fails.",
			"idempotent: done twice, the second changes nothing. compare-and-set: a unique constraint, a version column, a conditional write. " +
				"database-row: all that is guarded is changed in one transaction of one database. Name all that are possible."},
		{"checks_fence", []string{"checks_fence"},
			"Does what is guarded check fencing tokens: nothing, writes, or reads-and-writes?",
			"a process that stood still past its lease goes on as if it held the lock; only what is guarded can refuse it then.",
			"A fencing token is a number that rises with each grant. writes: a write with a lower token than the highest that it wrote with is refused. " +
				"reads-and-writes: a read raises the mark too. If you have never heard of it, it is nothing."},
		{"hold", []string{"hold.p50", "hold.p99", "hold.max"},
			"How long does the work under the lock take: at p50, at p99, at most?",
			"a lease has to outlast the work, or to be renewed.",
			"Three times with a unit, such as 5ms 40ms 200ms. What you leave out follows from the others."},
		{"pauses", []string{"pauses.p50", "pauses.p99", "pauses.longest", "pauses.per_hour"},
			"How long does a process stand still: at p50, at p99, at the longest, and how often in an hour?",
			"a pause that outlasts a lease lets another in while the first still works.",
			"Collections, a host that is busy, a machine that is moved: three times with a unit and a number, such as 10ms 100ms 500ms 60. " +
				"What your runtime logs of its collections is a beginning, but not all."},
		{"waiting", []string{"recovery_within", "wait"},
			"How soon after the death of a holder must another be granted the lock, and how long does a client wait before it gives up?",
			"the shorter the recovery, the shorter the lease, and the likelier that a pause outlasts it.",
			"Two times with a unit, such as 10s 2s. 0s for the first: whenever. 0s for the second: until it is granted."},
		{"load", []string{"clients", "rate", "fair", "reenters"},
			"Of the busiest lock: how many clients want it at once, how many grants a second are wanted, may nobody be passed over, and does an owner ask again for what it holds?",
			"locks differ most where many want the same one.",
			"Two numbers and twice yes or no, such as 16 50 no no. 0 grants a second: as they come."},
		{"stores", []string{"stores"},
			"Which stores are there that somebody runs?",
			"a store that nobody runs is a cost of its own, whatever its locks can do.",
			"redis is a single server, redis@replica one with a replica, redis@five five servers for Redlock. Name all of them."},
		{"survives_store", []string{"survives_store"},
			"What may befall the store without two being let in: restart, failover, clock, eviction, or none?",
			"a store that forgets a lock grants it again.",
			"restart: it comes back with what it has on disk. failover: a replica takes over. clock: its clock jumps. eviction: it drops keys for want of memory. " +
				"none: work is stopped by other means when it happens."},
		{"languages", []string{"languages"},
			"Which languages are its users written in, or any?",
			"a library of one language is no use in another.",
			"Small letters, such as go java python. any: a lock is written down anew, where there is no library."},
		{"weights", []string{"weights"},
			"What matters most among locks that do all that is needed: a weight from 0 to 10 for goodput, acquire, wait, fairness, recovery, commands?",
			"weights decide among what is safe, and never between safe and unsafe.",
			"Pairs of a name and a weight, such as goodput 2 recovery 0; what is left out has 1."},
		{"name", []string{"name", "guards"},
			"What is the decision called, in one word, and what is guarded, in a few?",
			"it stands above the report, and in the name of the file.",
			"Such as: inventory the stock of products. The word has small letters, digits and dashes."},
	}
}
