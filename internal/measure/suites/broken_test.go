package suites

import (
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/yamlfile"
)

// The constant few is a minimal suite, with only the required configuration keys.
const few = `name: few
sections:
  - name: one
    locks: fenced
    clients: 16
`

// mistake is a test case: an invalid suite file and the expected error.
type mistake struct {
	text, want string
	unseen     bool // whether the JSON schema accepts the file
}

// suiteWithLine returns the minimal suite with a line added to its only section.
func suiteWithLine(more string) string { return few + "    " + more + "\n" }

// suiteWithThreshold returns the minimal suite with a threshold added. The minimal suite itself has no thresholds.
func suiteWithThreshold(limit string) string { return few + "thresholds:\n  - " + limit + "\n" }

func broken() map[string]mistake {
	return map[string]mistake{
		"empty file":        {"", "s.yaml:1:1: the file is empty (want the keys of a suite, such as name and sections)", false},
		"a bracket open":    {"name: few\nsections: [\n", "s.yaml:2:11: this is no YAML: sequence end token ']' not found", true},
		"askew":             {few + "   keys: 4\n" + "doc: it\n", "s.yaml:6:4: this is no YAML: value is not allowed in this context", true},
		"a tab":             {few + "\tkeys: 4\n", "s.yaml:6:1: this is no YAML: found character '·' that cannot start any token", true},
		"two colons":        {suiteWithLine("keys: 4: 4"), "s.yaml:6:11: this is no YAML: mapping value is not allowed in this context", true},
		"too long":          {strings.Repeat("\n", yamlfile.MaxLines+1), "s.yaml:1:1: the file has 1001 lines and 1001 bytes (want at most 1000 and 65536)", false},
		"no mapping":        {"- few\n", "s.yaml:1:1: a list is no mapping (want keys such as name, each with a value)", false},
		"two documents":     {few + "---\nname: more\n", "s.yaml:6:1: another document begins here (want one suite in a file)", true},
		"nothing required":  {"trials: 7\n", "s.yaml:1:1: name is missing: unique name\ns.yaml:1:1: sections is missing: what is measured", false},
		"too few":           {suiteWithLine("keys: 0"), "s.yaml:6:11: keys: 0 is less than 1 (want 1 to 10000, or clients)", false},
		"negative":          {suiteWithLine("rounds: -3"), "s.yaml:6:13: rounds: -3 is less than 1 (want 1 to 10000)", false},
		"too many":          {suiteWithLine("processes: 65"), "s.yaml:6:16: processes: 65 is more than 64 (want 1 to 64)", false},
		"far too many":      {"seed: 18446744073709551616\n" + few, "s.yaml:1:7: seed: 18446744073709551616 is no whole number (want 0 to 18446744073709551615)", false},
		"text for a number": {suiteWithLine(`keys: "16"`), `s.yaml:6:11: keys: "16" is no whole number (want 1 to 10000, or clients)`, false},
		"a broken number":   {suiteWithLine("rounds: 1.5"), "s.yaml:6:13: rounds: 1.5 is no whole number (want 1 to 10000)", false},
		"an endless number": {"narrow: .inf\n" + few, "s.yaml:1:9: narrow: .inf is more than 1 (want 0.001 to 1)", false},
		"not a number":      {"narrow: .nan\n" + few, "s.yaml:1:9: narrow: .nan is no number (want 0.001 to 1)", false},
		"no unit":           {suiteWithLine("hold: 5"), "s.yaml:6:11: hold: 5 has no unit (want a duration from 0s to 1m, such as 1ms)", false},
		"no duration":       {suiteWithLine("hold: [1ms, long]"), "s.yaml:6:17: hold: long is no duration (want a duration from 0s to 1m, such as 1ms)", false},
		"too short":         {suiteWithLine("ttl: 1ms"), "s.yaml:6:10: ttl: 1ms is less than 400ms (want a duration from 400ms to 1h)", true},
		"unknown key":       {suiteWithLine("client: 4"), "s.yaml:6:5: unknown key client (did you mean clients?)", false},
		"far key":           {suiteWithLine("xxxxxxxx: 4"), "s.yaml:6:5: unknown key xxxxxxxx", false},
		"key twice":         {suiteWithLine("clients: 4"), "s.yaml:6:5: clients: the key comes twice, first in line 5", true},
		"no value":          {suiteWithLine("hold:"), "s.yaml:6:10: hold: has no value", false},
		"null in a list":    {"name: few\nsections:\n  - {name: one, clients: 4, locks: [x, null]}\n", "s.yaml:3:40: locks: has no value", false},
		"no sections":       {"name: few\nsections:\n", "s.yaml:2:10: sections: has no value", false},
		"empty list":        {suiteWithLine("hold: []"), "s.yaml:6:11: hold: the list is empty", false},
		"twice in a list":   {suiteWithLine("keys: [1, 0x1]"), "s.yaml:6:15: keys: 1 comes twice", false},
		"a list for one":    {suiteWithLine("ttl: [1s]"), "s.yaml:6:10: ttl: a list is no single value (want a duration from 400ms to 1h)", false},
		"one for a list":    {"name: few\nsections: one\n", "s.yaml:2:11: sections: one is no list (want a list, each entry after a dash)", false},
		"unclean name":      {"name: ../few\n" + strings.TrimPrefix(few, "name: few\n"), "s.yaml:1:7: name: ../few is no clean name (want small letters, digits and dashes, at most 40)", false},
		"none of":           {suiteWithLine("arrivals: closd"), "s.yaml:6:15: arrivals: closd is none of closed, constant, poisson, burst (did you mean closed?)", false},
		"a former key":      {suiteWithLine("floors: [bare]"), "s.yaml:6:5: floors: the key is now called baselines", false},
		"unknown baseline":  {suiteWithLine("baselines: [bear]"), "s.yaml:6:17: baselines: bear is none of none, local-mutex, bare, ping (did you mean bare?)", false},
		"alias":             {"name: &n few\ndoc: *n\n" + strings.TrimPrefix(few, "name: few\n"), "s.yaml:2:6: doc: an alias is not understood here (write the value out)", true},
		"tag":               {suiteWithLine("keys: !!str 4"), "s.yaml:6:11: keys: the tag !!str is not understood here", false},
		"bell":              {few + `doc: "ding\a"`, `s.yaml:6:6: doc: "ding\a" has hidden characters (want plain text)`, true},
		"nothing measured":  {"name: few\nsections:\n  - {name: one, clients: 4}\n", "s.yaml:3:5: the section one has neither locks nor baselines: want one of them", false},
		"params, no name":   {"name: few\nsections:\n  - {name: one, clients: 4, locks: [{name: x, params: {wait: spin}}]}\n", "s.yaml:3:37: as is missing: with params it is another subject, which needs a name", false},
		"lock twice":        {"name: few\nsections:\n  - {name: one, clients: 4, locks: [x, {name: x}]}\n", "s.yaml:3:40: locks: x comes twice", true},
		"one name, two":     {"name: few\nsections:\n  - {name: one, clients: 4, locks: [x, {name: z, as: x}]}\n", "s.yaml:3:40: locks: x has other parameters in another section (want another name, in as)", true},
		"a baseline's name": {"name: few\nsections:\n  - {name: one, clients: 4, locks: [x, bare]}\n", "s.yaml:3:40: locks: bare is the name of a baseline (want it in baselines, or another name, in as)", true},
		"section twice":     {few + "  - {name: one, clients: 4, locks: x}\n", "s.yaml:6:12: name: another section is called one", true},
		"the same point":    {suiteWithLine("keys: [16, clients]"), "s.yaml:3:5: two points of one are the same: one-16c-16k-0ms", true},
		"rate, closed":      {suiteWithLine("rate: 5"), "s.yaml:6:11: rate: closed arrivals have none (want arrivals: constant, poisson or burst beside it)", false},
		"no rate":           {suiteWithLine("arrivals: burst"), "s.yaml:6:15: arrivals: burst needs a rate (want rate: so many per second, of all clients together)", false},
		"fewer at most":     {"max_trials: 6\n" + few, "s.yaml:1:13: max_trials: 6 is less than trials, 10", true},
		"unknown metric":    {suiteWithThreshold("{lock: fenced, metric: godput, min: 1}"), "s.yaml:7:28: metric: godput is unknown (did you mean goodput?)", false},
		"no limit":          {suiteWithThreshold("{lock: fenced, metric: goodput}"), "s.yaml:7:5: the threshold of fenced has neither min nor max", false},
		"turned around":     {suiteWithThreshold("{lock: fenced, metric: goodput, min: 2, max: 1}"), "s.yaml:7:42: min: 2 is more than max, 1", true},
		"two ratios":        {suiteWithThreshold("{lock: fenced, metric: goodput, min: 2, ratio_to_baseline: true, ratio_to: fenced}"), "s.yaml:7:64: ratio_to_baseline: ratio_to is there already (want one of them)\ns.yaml:7:80: ratio_to: fenced is the subject itself", false},
		"who":               {suiteWithThreshold("{lock: fencd, metric: goodput, min: 2}"), "s.yaml:7:12: lock: fencd is not measured in the suite (did you mean fenced?)", true},
		"to whom":           {suiteWithThreshold("{lock: fenced, metric: goodput, min: 2, ratio_to: bare}"), "s.yaml:7:55: ratio_to: bare is not measured beside fenced in the suite", true},
		"not side by side":  {few + "  - {name: two, baselines: bare, clients: 4}\nthresholds: [{lock: fenced, metric: goodput, min: 2, ratio_to: bare, clients: 4}]\n", "s.yaml:7:64: ratio_to: bare is not measured beside fenced in the suite\ns.yaml:7:79: clients: fenced is not measured at 4 in the suite (want 16)", true},
		"where":             {suiteWithThreshold("{lock: fenced, section: on, metric: goodput, min: 2}"), "s.yaml:7:29: section: the suite has no on (did you mean one?)", true},
		"when":              {suiteWithThreshold("{lock: fenced, section: one, clients: 17, metric: goodput, min: 2}"), "s.yaml:7:43: clients: fenced is not measured at 17 in the section one (want 16)", true},
		"no flag":           {suiteWithThreshold("{lock: fenced, metric: goodput, min: 2, ratio_to_baseline: 1}"), "s.yaml:7:64: ratio_to_baseline: 1 is neither true nor false", false},
		"too many points":   {suiteWithLine("hold: [" + upTo(50, "us") + "]\n    rate: [" + upTo(50, "") + "]\n    arrivals: burst"), "s.yaml:3:3: sections: they make 2500 points (want at most 1000)", true},
		"ten and more":      {suiteWithLine("hold: [" + strings.Repeat("x, ", 6) + "x]\n    keys: [" + strings.Repeat("x, ", 6) + "x]"), "", false},
	}
}

// upTo returns a list of the numbers from 1 to n.
func upTo(n int, unit string) string {
	var list []string
	for i := range n {
		list = append(list, yamlfile.Plainly(float64(i+1))+unit)
	}
	return strings.Join(list, ", ")
}

var excerpts = regexp.MustCompile(`(?m)\n    .*$`)

// listedOf returns the lines of an error message that begin with a position in the file.
func listedOf(err error) string { return excerpts.ReplaceAllString(err.Error(), "") }

func TestBroken(t *testing.T) {
	for name, m := range broken() {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(m.text), Known{})
			if err == nil {
				t.Fatal("it is taken")
			}
			if m.want != "" && listedOf(err) != m.want {
				t.Errorf("got\n%v\nwant\n%s", err, m.want)
			}
		})
	}
	_, err := Parse("s.yaml", []byte(broken()["ten and more"].text), Known{})
	lines := strings.Split(listedOf(err), "\n")
	if last := lines[len(lines)-1]; len(lines) != yamlfile.MaxWrong+1 || !strings.HasSuffix(last, "more") {
		t.Errorf("%d lines, the last of which is %q", len(lines), last)
	}
}
