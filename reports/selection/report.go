// Package selection renders selection reports. It takes a Report, which internal/choose/decision makes, and returns a page
// (Page), a decision record (Markdown), text for the terminal (Text) and JSON (Data). The same Report gives the same bytes.
package selection

// Version is the version of advice.json that this package writes and reads.
const Version = 4

// Report is the content of advice.json. Needs, Options and Evidence are the input of the decision; the rest follows from them.
type Report struct {
	Version int      `json:"lockbench_advice"`
	Needs   Needs    `json:"needs"`
	Options []Option `json:"options"` // in display order, replacements of a lock first
	Evidence

	Decision     Decision        `json:"decision"`
	Requirements []Requirement   `json:"requirements"` // in display order
	Criteria     []Criterion     `json:"criteria"`     // in display order
	Cells        []Cell          `json:"cells"`        // by option, then by requirement and criterion
	LeasesNS     map[Lease]int64 `json:"leases_ns"`    // lease used in trials, by kind of lease; 0: no lease meets the requirements
	Lease        *LeaseAdvice    `json:"lease,omitempty"`
}

// Tag is the kind of evidence for a statement.
type Tag string

// The kinds of evidence.
const (
	Unknown    Tag = "unknown" // no evidence; never treated as yes
	Measured   Tag = "measured"
	Documented Tag = "documented" // from the documentation or the expectations of the lock
	Assumed    Tag = "assumed"    // from a statement of the team, or a default
)

// Answer states whether an option meets a requirement.
type Answer string

// The answers.
const (
	DontKnow Answer = "unknown"
	Yes      Answer = "yes"
	No       Answer = "no"
)

// Requirement is a condition that an option must meet. Options that are not known to meet it are eliminated.
type Requirement struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Need   string `json:"need"`   // key of the need behind the requirement; empty: every lock must meet it
	Safety bool   `json:"safety"` // if it is not met, two clients may hold the lock at once, or data may be damaged
	Tried  bool   `json:"tried"`  // the answer comes from trials, not from the needs and documentation
}

// Criterion is a figure by which the remaining options are compared.
type Criterion struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Doc    string  `json:"doc"` // definition, in one sentence
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Better int     `json:"better"` // +1: more is better; -1: less is better
	Weight float64 `json:"weight"` // all weights add up to 1
	// Enough is a value ten times as good as the needs require. Better values score no higher. 0: no limit.
	Enough float64 `json:"enough,omitempty"`
}

// Cell is the answer of one option to one requirement, or its value of one criterion.
type Cell struct {
	Option      string       `json:"option"`
	Of          string       `json:"of"`               // name of the requirement or criterion
	Answer      Answer       `json:"answer,omitempty"` // answer to a requirement
	Reason      Reason       `json:"reason"`
	Value       *float64     `json:"value,omitempty"` // median; a requirement compares it with Limit
	Low         *float64     `json:"low,omitempty"`   // Low and High are the 95 % interval of Value, if there are enough trials
	High        *float64     `json:"high,omitempty"`
	Limit       *float64     `json:"limit,omitempty"` // limit that the needs set, in the unit of Value
	Tag         Tag          `json:"tag"`
	Detail      string       `json:"detail,omitempty"`      // name of a fault, a library or languages
	Expectation *Expectation `json:"expectation,omitempty"` // the expected violation, if Reason is ExpectedViolation
	Evidence    []string     `json:"evidence,omitempty"`
}

// Outcome is the kind of result that a decision has.
type Outcome string

const (
	NothingFits  Outcome = "nothing-fits"   // no option meets all requirements
	OneLock      Outcome = "lock"           // one lock has the highest score
	ATie         Outcome = "tie"            // several locks have the same rank
	NoLockNeeded Outcome = "no-lock-needed" // a replacement of a lock meets all requirements
)

// Decision is the recommendation.
type Decision struct {
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"` // several options in a tie; empty if no option fits
	Lock        []string `json:"lock"`        // best locks; set even if no lock is needed
	Against     []Cell   `json:"against"`     // disadvantages of the recommended options

	Eliminated []Elimination `json:"eliminated"` // eliminated options, in display order
	Survivors  []string      `json:"survivors"`
	Dominated  []Dominated   `json:"dominated"`  // remaining options without a score, because another option is better
	Scores     []Score       `json:"scores"`     // scores of the Pareto set, from best to worst
	Weightings int           `json:"weightings"` // number of weightings tried
	Wins       []Win         `json:"wins"`       // options, by decreasing number of weightings in which they lead
	Turns      []Turn        `json:"turns"`      // weights and values at which another option leads
	Changes    []Change      `json:"changes"`    // effects of a changed need
}

// Elimination is an eliminated option, with the reasons.
type Elimination struct {
	Option  string   `json:"option"`
	Fails   []string `json:"fails"`   // requirements with the answer no
	Unknown []string `json:"unknown"` // requirements with the answer unknown
	Reason  string   `json:"reason"`  // most important of these requirements
}

// Dominated is an option that is no better than another in any criterion, and worse beyond noise in one.
type Dominated struct {
	Option string `json:"option"`
	By     string `json:"by"`
	In     string `json:"in"` // criterion in which By is better
}

// Score is the score of an option from 0 to 1. It is the weighted mean, over all criteria, of how close the option's value is
// to the best value.
type Score struct {
	Option string             `json:"option"`
	Rank   int                `json:"rank"` // options whose scores differ only within noise share a rank
	Score  float64            `json:"score"`
	Low    *float64           `json:"low"` // Low and High are the 95 % interval over trials; null: too few trials
	High   *float64           `json:"high"`
	Parts  map[string]float64 `json:"parts"` // closeness to the best, by criterion; 1 is the best
}

// Win is the number of weightings in which an option leads.
type Win struct {
	Option string  `json:"option"`
	Times  int     `json:"times"`
	Share  float64 `json:"share"`
}

// Turn is a weight or a measured value at which another option takes the lead.
type Turn struct {
	Of     string   `json:"of"`               // a criterion
	Weight *float64 `json:"weight,omitempty"` // weight of the criterion at which the lead changes; the other weights keep their proportions
	Option string   `json:"option,omitempty"` // option whose value is varied
	Value  *float64 `json:"value,omitempty"`
	To     string   `json:"to"` // option that leads from this weight or value on
}

// Change is the outcome that would follow if one need were different and the evidence the same.
type Change struct {
	Need        string   `json:"need"` // key of the need
	Value       string   `json:"value"`
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"`
	Lock        []string `json:"lock"`
}
