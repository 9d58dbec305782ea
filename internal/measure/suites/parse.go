package suites

import (
	"strconv"
	"strings"

	"lockbench/internal/yamlfile"
	"lockbench/reports/bench"
)

// Parse reads a suite. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (*Suite, error) {
	var s Suite
	var limits []limit
	f, err := yamlfile.Read(file, "suite", whole, suiteKeys(&s, &limits, known))
	if err != nil {
		return nil, err
	}
	s = s.Filled()
	reader{f}.sense(&s, limits)
	if err := f.Err(); err != nil {
		return nil, err
	}
	s.Thresholds = thresholds(limits)
	return &s, nil
}

// Write returns a file from which Parse reads the suite.
func Write(s Suite) []byte {
	var limits []limit
	for _, t := range s.Thresholds {
		l := limit{Lock: t.Subject, Section: t.Section, Metric: t.Metric, Min: t.Min, Max: t.Max, ToBaseline: t.ToBaseline}
		if t.Clients > 0 {
			l.Clients = []int{t.Clients}
		}
		if t.To != "" {
			l.To = []string{t.To}
		}
		limits = append(limits, l)
	}
	return yamlfile.Write(suiteKeys(&s, &limits, Known{}))
}

// limit is a threshold as it stands in a file: several at once, where it is of several numbers of clients or subjects.
type limit struct {
	Lock       string
	Section    string
	Clients    []int
	Metric     string
	Min, Max   *float64
	To         []string
	ToBaseline bool
}

func thresholds(limits []limit) []bench.Threshold {
	var all []bench.Threshold
	for _, l := range limits {
		for _, clients := range orZero(l.Clients) {
			for _, to := range orZero(l.To) {
				all = append(all, bench.Threshold{Subject: l.Lock, Section: l.Section, Clients: clients, Metric: l.Metric,
					Min: l.Min, Max: l.Max, To: to, ToBaseline: l.ToBaseline})
			}
		}
	}
	return all
}

// orZero is the list, or where it is empty one zero, which is read as any.
func orZero[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// UnmarshalText reads name or name@deployment.
func (l *Lock) UnmarshalText(text []byte) error {
	l.Name, l.Deployment, _ = strings.Cut(string(text), "@")
	return nil
}

// MarshalText writes name or name@deployment.
func (l *Lock) MarshalText() ([]byte, error) { return []byte(l.place()), nil }

// each is the word for a key for each client.
const each = "clients"

// UnmarshalText reads a number, or the word for one each.
func (k *Keys) UnmarshalText(text []byte) error {
	if *k = OneEach; string(text) == each {
		return nil
	}
	n, err := strconv.Atoi(string(text))
	*k = Keys(n)
	return err
}

// MarshalText writes a number, or the word for one each.
func (k *Keys) MarshalText() ([]byte, error) {
	if *k == OneEach {
		return []byte(each), nil
	}
	return strconv.AppendInt(nil, int64(*k), 10), nil
}
