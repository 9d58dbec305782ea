package rules

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// scope is a set of text kinds in which a term is forbidden. Each bit stands for one kind.
type scope uint8

const (
	pages    scope = 1 << iota // Markdown documents, JSON schemas, templates and example files
	messages                   // string literals of Go files other than tests
	comments                   // comments of Go files, including tests, and of scripts

	printed    = pages | messages
	everywhere = printed | comments
)

// term is a forbidden pattern. A space in the pattern matches any white space, and upper and lower case are the same.
type term struct {
	pattern string
	in      scope
	say     string // terms to use instead of the forbidden one
	found   string // example text that the pattern matches
	allowed string // similar example text that the pattern does not match; "": none
}

// forbidden lists words that the project's vocabulary replaces, and words that make sentences hard to read.
var forbidden = []term{
	// Terms for expectations and results.
	{`claim(s|ed|ing)?`, everywhere, "expectation; state, promise", "every claim was kept", ""},
	{`(expectation|propert(y|ie)|control)s? (that )?(is|are|was|were|has been|have been)( not)? (kept|broken|missed|caught)`, everywhere, "met, held, violated; detected, not detected", "all expectations were kept", "connections are kept open"},
	{`(must|to) be caught|caught and missed`, everywhere, "must be detected", "controls that must be caught", "a panic that is caught"},
	{`left undecided`, everywhere, "inconclusive", "two were left undecided", ""},
	{`witness(es)?`, printed, "violation example", "the witness below", ""},
	{`gives? (it|them|\w+ \w+|a \w+) (its|their) weight`, everywhere, "evidence", "counts that give a finding its weight", "weights of a score"},

	// The following patterns forbid unclear words for trials and faults.
	{`(not )?seen to (take effect|have)|was not seen to`, everywhere, "(not) verified", "a fault seen to take effect", ""},
	{`(trial|fault|run|result|attempt)s? (is|are|was|were) void|void (trial|run|result)s?`, everywhere, "discarded", "two trials were void", ""},
	{`(trial|fault|run|attempt)s? (does|do|did) not count`, everywhere, "is discarded", "such a trial does not count", "a lock that does not count re-entries"},
	{`st(an|oo)ds? still|standing still`, everywhere, "is paused, was paused", "the process stood still for a second", ""},

	// The following patterns forbid unclear words for locks and their clients.
	{`(he|she|those|one|ones|all|anyone|everyone|another|others) who`, everywhere, "client, waiter, holder, process", "those who ask", ""},
	{`who (asks?|asked|waits?|waited|holds?|held|renews?|releases?|retur?ns?|comes?|came|goes|gives?|gave|takes?|took|has|had)`, everywhere, "client, waiter, holder, process", "who waits is told", "developers who know locks"},
	{`whoever|whomever|whosoever|whosever`, everywhere, "a client that", "whoever asks", ""},
	{`nobody|somebody|everybody|anybody|anybody's`, everywhere, "no client, a client; any reader", "nobody holds it", ""},
	{`strangers?|takers?`, everywhere, "a client that does not hold; another client", "released by a stranger", ""},
	{`ask(s|ed|ing)? for (it|them|locks?|keys?|(a|the|its|another|one) (lock|key|lease))|(is|was|are|were|be|been|being) asked for`, everywhere, "request, acquire", "a client asks for the lock", "the command asks for a password"},
	{`(giv(e|es|ing|en)|gave) (it |them |its lock |the lock |the key |a hold )?back`, everywhere, "release", "the holder gives it back", "the server gives a number"},
	{`(giv(e|es|ing|en)|gave)( \w+)? up`, everywhere, "time out, stop, cancel, abandon", "a waiter gives up", ""},
	{`answer(s|ed|ing)? ["“]?busy|busy (was|is|are|were) answered`, everywhere, "refuse (busy)", "the server answered busy", "the server is busy"},
	{`(lease|hold|promise|wait|session|trial|run|context|window)('s \w+)?s? (is|are|was|were|has been|being) over`, everywhere, "expired, has ended", "when the lease is over", "over 10 s of the lease"},
	{`outlast(s|ed|ing)?`, everywhere, "hold outlives its lease", "work outlasts the lease", ""},
	{`at home on`, everywhere, "supported deployment", "the deployments it is at home on", ""},
	{`peers?`, everywhere, "third-party lock", "peers are not explored", "disappears"},
	{`(librar(y|ies)|locks?|code|clients?) of others`, everywhere, "third-party library", "libraries of others", "the leases of other clients"},
	{`floors?|honest top`, everywhere, "baseline; reference implementation", "the floor is none", ""},
	{`both (were |are )?inside|(two|both|clients|holders) (were|are) (inside|in[.,;:])|inside (it )?at once|double holds?|both in at once`, everywhere, "two clients held the lock at once", "both were inside for 2 ms", "two are in the list of suites"},
	{`what (is|was) guarded|what the lock guards`, everywhere, "the resource", "reads what the lock guards", ""},
	{`the late one|nobody else's|another's|the next one's`, everywhere, "the late holder; another client's", "it deletes another's key", ""},

	// Terms for counterexamples, reports and decisions.
	{`stor(y|ies)|tales?`, everywhere, "counterexample; event list", "the story of a violation", "a stored history"},
	{`made small`, everywhere, "minimised", "it is made small", ""},
	{`knock(s|ed|ing)?[- ]?out`, everywhere, "eliminated", "three were knocked out", ""},
	{`table of keys`, everywhere, "configuration, schema", "want a table of keys", ""},

	// Times.
	{`instants?`, everywhere, "time, moment", "at one instant", "instantly"},
	{`patience`, everywhere, "timeout", "a waiter's patience", ""},
	{`(a|the|its|this) within`, everywhere, "timeout, bound", "the within of a plan", "within a second"},
	{`for ever`, everywhere, "forever", "it waits for ever", "for every lock"},

	// Sentences.
	{`(is|are|was|were) what`, everywhere, "what it is: X returns, X holds", "All is what is tested", ""},
	{`tells? (if|whether|who|what|which|how|when)`, everywhere, "reports whether, returns", "Over tells whether it ended", ""},
	{`there (is|are|was|were) none`, everywhere, "no X", "there is none that knows", ""},
	{`of (its|their|his|one's) own([.,;:)]| (that|which|and|or|in|on|for|with|to|is|are|was|as|by|until|whose|while|from|at|of)|\s*$)`, everywhere, "separate", "a process of its own", "changes of its own connection"},
	{`(^|[^-\w])be it`, everywhere, "even, also", "a marker, be it set or not", ""},
	{`(but|only|except|unless|even) where|where (there|nothing|none|not|another|one) `, everywhere, "if, unless, when", "but where it fails", "the folder where it is"},
	{`all the same`, everywhere, "still, nevertheless", "it is granted all the same", ""},
	{`in vain`, everywhere, "without success", "it waits in vain", ""},
	{`what(ever)? (has |had )?bec(ame|omes?) of`, everywhere, "even if", "whatever became of its holder", ""},
	{`(is|are|was) no more[.,;:]|as it were`, everywhere, "has ended", "its process is no more.", "there are no more than 5"},
	{`signs? of life`, everywhere, "ping, heartbeat", "it is asked for a sign of life", ""},
}

// exceptions lists files in which a forbidden pattern is allowed, with the reason.
var exceptions = []struct{ pattern, path, because string }{
	{`(giv(e|es|ing|en)|gave)( \w+)? up`, "internal/simulate/explore/file.go", "the name of a verb in files of version 1"},
	{`peers?`, "internal/world/builtin/etcd.go", "etcd calls it the peer URL"},
	{`peers?`, "docs/scale.md", "a word of the command ip"},
}

// finder searches a text for a forbidden pattern.
type finder struct {
	*regexp.Regexp
	literals []string // literals to search for first, because this is fast; every match contains at least one of them
}

func finderOf(pattern string) finder {
	pattern = strings.ReplaceAll(pattern, " ", `\s+`)
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return finder{regexp.MustCompile(`(^|[^\w'’-])(?P<word>` + pattern + `)($|[^\w-])`), literalsOf(parsed)}
}

// literalsOf returns strings of which every match of the regular expression contains at least one. If it finds no such
// strings, it returns nil.
func literalsOf(re *syntax.Regexp) (all []string) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			of := literalsOf(sub)
			if of == nil {
				return nil
			}
			all = append(all, of...)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if of := literalsOf(sub); of != nil && (all == nil || shortest(of) > shortest(all)) {
				all = of
			}
		}
	}
	return all
}

func shortest(all []string) int {
	return len(slices.MinFunc(all, func(a, b string) int { return len(a) - len(b) }))
}

// findAll returns the start and the end of each match of the pattern in a lower-case text.
func (f finder) findAll(lower string) (all [][2]int) {
	if f.literals != nil && !slices.ContainsFunc(f.literals, func(l string) bool { return strings.Contains(lower, l) }) {
		return nil
	}
	word := f.SubexpIndex("word") * 2
	for _, at := range f.FindAllStringSubmatchIndex(lower, -1) {
		all = append(all, [2]int{at[word], at[word+1]})
	}
	return all
}

// TestTermsAreFound checks each pattern on a text that it must match and on a text that it must not match.
func TestTermsAreFound(t *testing.T) {
	for _, f := range forbidden {
		p := finderOf(f.pattern)
		if p.findAll(f.found) == nil {
			t.Errorf("%s is not found in %q", f.pattern, f.found)
		}
		if p.findAll(f.allowed) != nil {
			t.Errorf("%s is found in %q", f.pattern, f.allowed)
		}
	}
	for _, e := range exceptions {
		if !slices.ContainsFunc(forbidden, func(f term) bool { return f.pattern == e.pattern }) {
			t.Errorf("the exception for %s in %s has no term", e.pattern, e.path)
		}
	}
}

// TestTerms checks that no text of the project contains a forbidden term.
func TestTerms(t *testing.T) {
	finders := make([]finder, len(forbidden))
	for i, f := range forbidden {
		finders[i] = finderOf(f.pattern)
	}
	texts, used := 0, map[int]bool{}
	eachText(t, func(x text) {
		texts++
		lower := strings.ToLower(x.text)
		for i, f := range forbidden {
			if f.in&x.kind == 0 {
				continue
			}
			for _, at := range finders[i].findAll(lower) {
				place := fmt.Sprintf("%s:%d: %q: say %s", x.path, x.line+strings.Count(lower[:at[0]], "\n"), strings.Join(strings.Fields(lower[at[0]:at[1]]), " "), f.say)
				if n := exceptionFor(f.pattern, x.path); n >= 0 {
					used[n] = true
				} else {
					t.Error(place)
				}
			}
		}
	})
	if texts < 5000 {
		t.Errorf("%d texts were read: this test is wrong", texts)
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("%s does not occur in %s: remove the exception", e.pattern, e.path)
		}
	}
}

func exceptionFor(pattern, path string) int {
	for i, e := range exceptions {
		if e.pattern == pattern && strings.HasPrefix(path, e.path) {
			return i
		}
	}
	return -1
}
