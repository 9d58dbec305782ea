package decision

// Version is the version of advice.json that this package writes, and the only one that it reads.
const Version = 1

// Report is advice.json: a recommendation and all that it rests on. Everything but Needs, Options and Evidence follows from
// those (see Decide), so that anybody can work it out again.
type Report struct {
	Version      int           `json:"lockbench_advice"`
	Needs        Needs         `json:"needs"`
	Decision     Decision      `json:"decision"`
	Requirements []Requirement `json:"requirements"` // what the needs ask of an option; in display order
	Criteria     []Criterion   `json:"criteria"`     // by which survivors are compared; in display order
	Options      []Option      `json:"options"`      // in display order
	Cells        []Cell        `json:"cells"`        // by option, then by requirement and criterion
	Lease        *LeaseAdvice  `json:"lease,omitempty"`
	Evidence
}

// Tag is what a statement rests on.
type Tag string

const (
	Unknown    Tag = "unknown" // on nothing: it never counts as a yes
	Measured   Tag = "measured"
	Documented Tag = "documented" // in the lock's own table, or by its makers
	Assumed    Tag = "assumed"    // on what the team said, or on a default
)

// Answer is whether an option does what is required.
type Answer string

const (
	DontKnow Answer = "unknown"
	Yes      Answer = "yes"
	No       Answer = "no"
)

// Requirement is something without which an option is out, whatever else it does well.
type Requirement struct {
	Name    string `json:"name"`
	Title   string `json:"title"`   // a short phrase for the head of a column
	Because string `json:"because"` // the need that asks for it, in a sentence
	Safety  bool   `json:"safety"`  // two could be let in, or harm be done; else it is a matter of use
	Tried   bool   `json:"tried"`   // it is answered by trials; else by what the team says and what is documented
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
	// Enough is a value that is ten times as good as what is asked for: what is better still counts as this. 0: there is none.
	Enough float64 `json:"enough,omitempty"`
}

// Cell is one option and one requirement or criterion.
type Cell struct {
	Option   string   `json:"option"`
	Of       string   `json:"of"`               // the requirement's name, or the criterion's
	Answer   Answer   `json:"answer,omitempty"` // of a requirement
	Value    *float64 `json:"value,omitempty"`  // of a criterion: the median
	Low      *float64 `json:"low,omitempty"`    // of its 95 % interval, where there are trials enough
	High     *float64 `json:"high,omitempty"`
	Tag      Tag      `json:"tag"`
	Text     string   `json:"text"`               // a sentence with its conditions
	Evidence []string `json:"evidence,omitempty"` // ids of findings and figures
}

// Statement is a sentence and what it rests on.
type Statement struct {
	Text     string   `json:"text"`
	Tag      Tag      `json:"tag"`
	Evidence []string `json:"evidence,omitempty"`
}

// Outcome is what the decision comes to.
type Outcome string

const (
	NothingFits  Outcome = "nothing-fits"   // no option does all that is required
	OneLock      Outcome = "lock"           // one option is ahead
	ATie         Outcome = "tie"            // several cannot be told apart
	NoLockNeeded Outcome = "no-lock-needed" // something that takes the place of a lock fits
)

// Decision is the recommendation.
type Decision struct {
	Outcome     Outcome     `json:"outcome"`
	Recommended []string    `json:"recommended"` // options; several where they are tied; none where nothing fits
	Lock        []string    `json:"lock"`        // the best locks, where no lock is needed and one is wanted all the same
	Sentence    string      `json:"sentence"`    // the verdict with its conditions
	For         []Statement `json:"for"`
	Against     []Statement `json:"against"` // what speaks against what is recommended
	Conditions  []Statement `json:"conditions"`
	Again       []string    `json:"again"` // when to ask again

	Out       []Knockout  `json:"out"` // by option, in display order, each with all that it fails
	Survivors []string    `json:"survivors"`
	Dominated []Dominated `json:"dominated"` // of the survivors: another is as good in everything, and better in something
	Scores    []Score     `json:"scores"`    // of the Pareto set, from best to worst
	Weighings int         `json:"weighings"` // how many weightings were tried
	Wins      []Win       `json:"wins"`      // over those, from most to least
	Turns     []Turn      `json:"turns"`     // what would change the winner
	Changes   []Change    `json:"changes"`   // what another need would change
}

// Knockout is an option that is out, and why.
type Knockout struct {
	Option string   `json:"option"`
	Fails  []string `json:"fails"`  // requirements that it was seen, or is known, not to meet
	Unsure []string `json:"unsure"` // requirements of which it is not known whether it meets them
	Text   string   `json:"text"`   // the gravest, in a sentence
}

// Dominated is an option that another one is at least as good as in everything, and better than in something, beyond noise.
type Dominated struct {
	Option string `json:"option"`
	By     string `json:"by"`
	Text   string `json:"text"`
}

// Score is an option's weighted mean of how close it comes to the best of each criterion, from 0 to 1.
type Score struct {
	Option string             `json:"option"`
	Rank   int                `json:"rank"` // those that cannot be told apart share one
	Score  float64            `json:"score"`
	Low    *float64           `json:"low"` // of a 95 % interval over trials; null: too few
	High   *float64           `json:"high"`
	Parts  map[string]float64 `json:"parts"` // by criterion: 1 is the best
}

// Win is over how many weightings an option is ahead.
type Win struct {
	Option string  `json:"option"`
	Times  int     `json:"times"`
	Share  float64 `json:"share"`
}

// Turn is a weight or a measured value at which the winner changes.
type Turn struct {
	Of     string   `json:"of"`               // a criterion
	Weight *float64 `json:"weight,omitempty"` // of that criterion, the others keeping their proportions
	Option string   `json:"option,omitempty"` // whose value
	Value  *float64 `json:"value,omitempty"`
	To     string   `json:"to"` // who is ahead then
	Text   string   `json:"text"`
}

// Change is what another answer to one need would come to, by the same evidence.
type Change struct {
	Need        string   `json:"need"` // its key
	Value       string   `json:"value"`
	Outcome     Outcome  `json:"outcome"`
	Recommended []string `json:"recommended"`
	Text        string   `json:"text"`
}
