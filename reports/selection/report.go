// Package selection renders selection reports. It takes a Report, which internal/choose/decision makes, and returns a page
// (Page), a decision record (Markdown), text for the terminal (Text) and JSON (Data). The same Report gives the same bytes.
package selection

// Version is the version of advice.json that this package writes and reads.
const Version = 4

// Report holds the content of advice.json. Needs, Options and Evidence are the input of the decision; the other fields are its
// result.
type Report struct {
	Version int      `json:"lockbench_advice"`
	Needs   Needs    `json:"needs"`
	Options []Option `json:"options"` // in display order: first the mechanisms that replace a lock, then the locks
	Evidence

	Decision     Decision        `json:"decision"`
	Requirements []Requirement   `json:"requirements"` // requirements in display order
	Criteria     []Criterion     `json:"criteria"`     // criteria in display order
	Cells        []Cell          `json:"cells"`        // sorted by candidate, then by requirement and criterion
	LeasesNS     map[Lease]int64 `json:"leases_ns"`    // lease calculated from the requirements, by kind of lease; 0: no lease meets the requirements
	Lease        *LeaseAdvice    `json:"lease,omitempty"`
}

// Tag is the kind of evidence for a statement.
type Tag string

// The kinds of evidence.
const (
	Unknown    Tag = "unknown" // no evidence; it never counts as a yes
	Measured   Tag = "measured"
	Documented Tag = "documented" // statement in the lock's documentation, or expectation of the lock's author
	Assumed    Tag = "assumed"    // conclusion from a stated or default requirement, not from evidence
)

// Answer states whether a candidate meets a requirement.
type Answer string

// The answers.
const (
	DontKnow Answer = "unknown"
	Yes      Answer = "yes"
	No       Answer = "no"
)

// Requirement is a condition that a candidate must meet. A candidate that is not known to meet a requirement is eliminated.
type Requirement struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Need   string `json:"need"`   // key in the requirements file; empty if every lock must meet the requirement
	Safety bool   `json:"safety"` // whether an unmet requirement can lead to two holders at once or to damaged data
	Tried  bool   `json:"tried"`  // whether the answer comes from trials, not from documentation
}

// Criterion is a figure by which the remaining candidates are compared.
type Criterion struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Doc    string  `json:"doc"` // definition of the criterion, in one sentence
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Better int     `json:"better"` // +1: more is better; -1: less is better
	Weight float64 `json:"weight"` // weight of the criterion; all weights add up to 1
	// Enough is the value beyond which a better value does not raise the score. It is ten times as good as the required value.
	// If Enough is 0, a better value always gets a higher score.
	Enough float64 `json:"enough,omitempty"`
}

// Cell states whether a candidate meets a requirement, or holds the value of a candidate for a criterion.
type Cell struct {
	Option      string       `json:"option"`
	Of          string       `json:"of"`               // name of the requirement or criterion
	Answer      Answer       `json:"answer,omitempty"` // whether the candidate meets the requirement; empty for a criterion
	Reason      Reason       `json:"reason"`
	Value       *float64     `json:"value,omitempty"` // median of the value; a requirement compares it with Limit
	Low         *float64     `json:"low,omitempty"`   // Low and High are the 95 % interval of Value; null: too few trials
	High        *float64     `json:"high,omitempty"`
	Limit       *float64     `json:"limit,omitempty"` // limit that the requirements set, in the unit of Value
	Tag         Tag          `json:"tag"`
	Detail      string       `json:"detail,omitempty"`      // depends on Reason: the name of a fault, or the names of libraries or languages
	Expectation *Expectation `json:"expectation,omitempty"` // the expected violation, if Reason is ExpectedViolation
	Evidence    []string     `json:"evidence,omitempty"`
}

// Outcome states what a report recommends: one lock, several equally good locks, an alternative to a lock, or nothing.
type Outcome string

const (
	NothingFits  Outcome = "nothing-fits"   // no candidate meets all requirements
	OneLock      Outcome = "lock"           // one lock has the highest score
	ATie         Outcome = "tie"            // several locks share the best rank
	NoLockNeeded Outcome = "no-lock-needed" // an alternative to a lock, such as a database transaction, meets all requirements
)

// Decision holds the recommendation of a report, with its alternatives.
type Decision struct {
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"` // several candidates in a tie; empty if no candidate meets all requirements
	Lock        []string `json:"lock"`        // locks with the best rank; set even if no lock is needed
	Against     []Cell   `json:"against"`     // disadvantages of the recommended candidates

	Eliminated []Elimination `json:"eliminated"` // eliminated candidates, in display order
	Survivors  []string      `json:"survivors"`
	Dominated  []Dominated   `json:"dominated"`  // remaining candidates without a score: another candidate is better in one criterion and worse in none
	Scores     []Score       `json:"scores"`     // scores of the remaining candidates that are not dominated, from best to worst
	Weightings int           `json:"weightings"` // number of tried combinations of weights
	Wins       []Win         `json:"wins"`       // candidates, sorted by the number of combinations of weights in which they lead
	Turns      []Turn        `json:"turns"`      // weights and values at which another candidate leads
	Changes    []Change      `json:"changes"`    // outcomes if one requirement were different
}

// Elimination holds an eliminated candidate and the reasons.
type Elimination struct {
	Option  string   `json:"option"`
	Fails   []string `json:"fails"`   // names of the requirements that are not met
	Unknown []string `json:"unknown"` // names of the requirements whose answer is unknown
	Reason  string   `json:"reason"`  // most important requirement in Fails and Unknown
}

// Dominated holds a candidate (Option) and another candidate (By) that dominates it. By is better in one criterion,
// beyond noise, and worse in none.
type Dominated struct {
	Option string `json:"option"`
	By     string `json:"by"`
	In     string `json:"in"` // name of the criterion in which the candidate By is better
}

// Score holds the score of a candidate, from 0 to 1. The score is the mean of Parts, weighted by the weights of the criteria.
type Score struct {
	Option string             `json:"option"`
	Rank   int                `json:"rank"` // candidates whose scores differ only within noise share a rank
	Score  float64            `json:"score"`
	Low    *float64           `json:"low"` // Low and High are the 95 % interval of Score; null: too few trials
	High   *float64           `json:"high"`
	Parts  map[string]float64 `json:"parts"` // values relative to the best value, by criterion; 1 is the best value
}

// Win counts the combinations of weights in which a candidate has the best score.
type Win struct {
	Option string  `json:"option"`
	Times  int     `json:"times"`
	Share  float64 `json:"share"`
}

// Turn is a weight or a measured value at which another candidate gets the best score.
type Turn struct {
	Of     string   `json:"of"`               // name of the criterion whose weight or value is varied
	Weight *float64 `json:"weight,omitempty"` // weight from which another candidate has the best score, if the other weights keep their proportions
	Option string   `json:"option,omitempty"` // candidate whose measured value is varied
	Value  *float64 `json:"value,omitempty"`
	To     string   `json:"to"` // name of the candidate that gets the best score at this weight or value
}

// Change holds the outcome that would follow from the same evidence if one requirement were different.
type Change struct {
	Need        string   `json:"need"` // key in the requirements file
	Value       string   `json:"value"`
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"`
	Lock        []string `json:"lock"`
}
