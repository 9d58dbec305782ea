// Package selection is the selection report. A Report goes in; a page, a decision record and text come out, always the same
// bytes. internal/choose/decision makes the Report.
package selection

// Version is the version of advice.json that this package writes, and the only one that it reads.
const Version = 4

// Report is advice.json. Needs, Options and Evidence are the input of the decision; all else follows from them.
type Report struct {
	Version int      `json:"lockbench_advice"`
	Needs   Needs    `json:"needs"`
	Options []Option `json:"options"` // in display order, those without a lock first
	Evidence

	Decision     Decision        `json:"decision"`
	Requirements []Requirement   `json:"requirements"` // in display order
	Criteria     []Criterion     `json:"criteria"`     // in display order
	Cells        []Cell          `json:"cells"`        // by option, then by requirement and criterion
	LeasesNS     map[Lease]int64 `json:"leases_ns"`    // that locks are tried with; 0: no lease does what is needed
	Lease        *LeaseAdvice    `json:"lease,omitempty"`
}

// Tag is the kind of evidence for a statement.
type Tag string

const (
	Unknown    Tag = "unknown" // on nothing: it never counts as a yes
	Measured   Tag = "measured"
	Documented Tag = "documented" // by the lock's own table, or by its makers
	Assumed    Tag = "assumed"    // on what the team said, or on a default
)

// Answer is whether an option meets a requirement.
type Answer string

const (
	DontKnow Answer = "unknown"
	Yes      Answer = "yes"
	No       Answer = "no"
)

// Requirement is something without which an option is eliminated, however well it does otherwise.
type Requirement struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Need   string `json:"need"`   // the key of the need that asks for it; empty: it is asked of every lock
	Safety bool   `json:"safety"` // without it two clients hold at once, or harm is done
	Tried  bool   `json:"tried"`  // trials answer it; else the needs and documentation do
}

// Criterion is a figure by which survivors are compared.
type Criterion struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Doc    string  `json:"doc"` // what exactly is compared, in a sentence
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Better int     `json:"better"` // +1: more is better; -1: less is
	Weight float64 `json:"weight"` // of all weights, which add up to 1
	// Enough is a value ten times as good as the needs ask for: a better one counts as this. 0: there is none.
	Enough float64 `json:"enough,omitempty"`
}

// Cell is the answer of one option to one requirement, or its value of one criterion.
type Cell struct {
	Option      string       `json:"option"`
	Of          string       `json:"of"`               // the requirement's name, or the criterion's
	Answer      Answer       `json:"answer,omitempty"` // of a requirement
	Reason      Reason       `json:"reason"`
	Value       *float64     `json:"value,omitempty"` // the median of a criterion, or what is compared with Limit
	Low         *float64     `json:"low,omitempty"`   // of its 95 % interval, if there are enough trials
	High        *float64     `json:"high,omitempty"`
	Limit       *float64     `json:"limit,omitempty"` // that the needs set, in the unit of Value
	Tag         Tag          `json:"tag"`
	Detail      string       `json:"detail,omitempty"`      // of some reasons: a fault, a library, languages
	Expectation *Expectation `json:"expectation,omitempty"` // of ExpectedViolation
	Evidence    []string     `json:"evidence,omitempty"`
}

// Outcome is the kind of recommendation.
type Outcome string

const (
	NothingFits  Outcome = "nothing-fits"   // no option meets all requirements
	OneLock      Outcome = "lock"           // one lock has the highest score
	ATie         Outcome = "tie"            // several locks cannot be told apart
	NoLockNeeded Outcome = "no-lock-needed" // something that replaces a lock fits
)

// Decision is the recommendation.
type Decision struct {
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"` // options; several of a tie, none if nothing fits
	Lock        []string `json:"lock"`        // the best locks, also if none is needed
	Against     []Cell   `json:"against"`     // what speaks against what is recommended

	Eliminated []Elimination `json:"eliminated"` // by option, in display order
	Survivors  []string      `json:"survivors"`
	Dominated  []Dominated   `json:"dominated"`  // survivors that another equals in everything and beats in something
	Scores     []Score       `json:"scores"`     // of the Pareto set, from best to worst
	Weightings int           `json:"weightings"` // how many weightings were tried
	Wins       []Win         `json:"wins"`       // over those, from most to least
	Turns      []Turn        `json:"turns"`      // the weights and values at which another option leads
	Changes    []Change      `json:"changes"`    // what another answer to one need would change
}

// Elimination is an option that is eliminated, and why.
type Elimination struct {
	Option  string   `json:"option"`
	Fails   []string `json:"fails"`   // requirements that it does not meet
	Unknown []string `json:"unknown"` // requirements of which it is not known whether it meets them
	Reason  string   `json:"reason"`  // the gravest of these
}

// Dominated is an option that another equals in every criterion, and beats beyond noise in one.
type Dominated struct {
	Option string `json:"option"`
	By     string `json:"by"`
	In     string `json:"in"` // that criterion
}

// Score is an option's weighted mean of how close it comes to the best of each criterion, from 0 to 1.
type Score struct {
	Option string             `json:"option"`
	Rank   int                `json:"rank"` // options that cannot be told apart share one
	Score  float64            `json:"score"`
	Low    *float64           `json:"low"` // of a 95 % interval over trials; null: too few trials
	High   *float64           `json:"high"`
	Parts  map[string]float64 `json:"parts"` // by criterion: 1 is the best
}

// Win is in how many weightings an option leads.
type Win struct {
	Option string  `json:"option"`
	Times  int     `json:"times"`
	Share  float64 `json:"share"`
}

// Turn is a weight or a measured value from which on another option leads.
type Turn struct {
	Of     string   `json:"of"`               // a criterion
	Weight *float64 `json:"weight,omitempty"` // of that criterion, the others keeping their proportions
	Option string   `json:"option,omitempty"` // whose value
	Value  *float64 `json:"value,omitempty"`
	To     string   `json:"to"` // the leading option then
}

// Change is the outcome of another answer to one need, by the same evidence.
type Change struct {
	Need        string   `json:"need"` // its key
	Value       string   `json:"value"`
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"`
	Lock        []string `json:"lock"`
}
