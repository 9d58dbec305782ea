package workloads

import (
	"slices"

	"lockbench/histories"
	"lockbench/impls"
)

// Habit is a way of using a lock, such as trying in a loop instead of waiting. In the workload "varied", each iteration
// selects some habits at random.
type Habit uint8

const (
	Tries           Habit = iota // try in a loop instead of waiting
	TimesOut                     // wait with a timeout of 0.05 to 2 leases
	Idles                        // pause for 0 to 2 leases before the acquire
	HoldsLong                    // hold for 1 to 4 leases; the lock or the client renews the hold
	VariesLease                  // request 0.3 to 1 times the lease of the parameters
	Nests                        // acquire and release the key again during the hold
	TriesHeld                    // try to acquire the held key a second time; the lock is not re-entrant, so it must refuse
	Renews                       // renew the hold on request
	ReleasesTwice                // release again after a successful release
	ReleasesEarlier              // release an earlier hold of the key during a later hold
	ReleasesLate                 // release after the lease has expired
	RepeatsRelease               // release again after a release with an unknown outcome
	NamesOddly                   // use owner names that contain spaces, quotes or patterns, or that are prefixes of each other
	LetsExpire                   // do not release, but wait until the lease has expired
	MeetsRenewals                // end the hold at about the time of a renewal: after a multiple of a third or a sixth of a lease
	NestsDeeply                  // nest three levels deep; has an effect only with the habit Nests
	HoldsTwo                     // try another key during the hold; has an effect only with several keys
	NamesLocally                 // use the same owner names in each process, as with numbers of threads
	habitCount                   // number of habits
)

var habitNames = []string{"tries", "times-out", "idles", "holds-long", "varies-lease", "nests", "tries-held", "renews",
	"releases-twice", "releases-earlier", "releases-late", "repeats-release", "names-oddly",
	"lets-expire", "meets-renewals", "nests-deeply", "holds-two", "names-locally"}

func (h Habit) String() string { return histories.NameOf(habitNames, int(h)) }

func (h Habit) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

func (h *Habit) UnmarshalText(text []byte) error {
	return histories.Parse(h, habitNames, text, "habit")
}

// HabitsOf returns the habits that suit a lock. It omits habits that even a correct lock may handle wrongly. For
// example, a lock in another program may be re-entrant without stating so.
func HabitsOf(l impls.Impl) []Habit {
	program := l.Program != nil
	suits := map[Habit]bool{
		HoldsLong:   l.Renews || l.Extends || l.Session,
		VariesLease: !l.Session && l.Shortest == 0 && (!program || l.Program.Step == 0),
		Nests:       l.Reentrant,
		TriesHeld:   !l.Reentrant && !program,
		Renews:      l.Extends && !l.Renews,
		// A re-entrant lock in another program may identify a hold by its owner only, and then rightly ends the later hold.
		ReleasesEarlier: !program || !l.Reentrant,
		ReleasesLate:    !l.Renews,
		RepeatsRelease:  !program || l.Program.Rereleases,
		LetsExpire:      !l.Renews && !l.Session && !l.Reentrant,
		NestsDeeply:     l.Reentrant,
		NamesLocally:    l.LocalOwners,
	}
	var all []Habit
	for h := range habitCount {
		if suit, limited := suits[h]; suit || !limited {
			all = append(all, h)
		}
	}
	return all
}

// UniqueTokens reports whether each grant of a lock must have a different token. A re-entrant lock may use its owner as the
// token, and a lock with sessions its session. The tokens of a lock in another program are unspecified.
func UniqueTokens(l impls.Impl) bool { return !l.Reentrant && !l.Session && l.Program == nil }

// Misuses reports whether a client with this habit releases holds that it no longer has.
func (h Habit) Misuses() bool {
	return h == ReleasesTwice || h == ReleasesEarlier || h == ReleasesLate
}

// Follows returns the habits that clients follow. The argument contains the habits that suit the lock. If Params.Habits
// is empty, clients follow all of them.
func (p *Params) Follows(suits []Habit) []Habit {
	if len(p.Habits) == 0 {
		return suits
	}
	return slices.DeleteFunc(slices.Clone(suits), func(h Habit) bool { return !slices.Contains(p.Habits, h) })
}
