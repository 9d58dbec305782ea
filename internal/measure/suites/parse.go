package suites

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"lockbench/internal/keyed"
	"lockbench/reports/bench"
)

// Parse reads a suite. The error has a line for each mistake, with the place where it stands.
func Parse(file string, whole []byte, known Known) (*Suite, error) {
	f, err := keyed.Read(file, "suite", whole, suiteKeys(known))
	if err != nil {
		return nil, err
	}
	var w written
	if err := f.Root.Decode(&w); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := Suite(w.Suite).Filled()
	s.Doc = strings.Join(strings.Fields(s.Doc), " ")
	r := reader{f}
	r.sense(f.Root, &s, w.Thresholds)
	if err := f.Err(); err != nil {
		return nil, err
	}
	s.Thresholds = thresholds(w.Thresholds)
	return &s, nil
}

// written is a suite as it stands in a file.
type written struct {
	Suite      plain   `yaml:",inline"`
	Thresholds []limit `yaml:"thresholds,omitempty"`
}

// plain has no methods: written is not to be marshalled as a suite is.
type plain Suite

// limit is a threshold as it stands in a file: several at once, where it is of several numbers of clients or subjects.
type limit struct {
	Lock       string   `yaml:"lock"`
	Section    string   `yaml:"section,omitempty"`
	Clients    []int    `yaml:"clients,omitempty"`
	Metric     string   `yaml:"metric"`
	Min        *float64 `yaml:"min,omitempty"`
	Max        *float64 `yaml:"max,omitempty"`
	To         []string `yaml:"ratio_to,omitempty"`
	ToBaseline bool     `yaml:"ratio_to_baseline,omitempty"`
}

// thresholds are limits one by one.
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

// MarshalYAML writes a suite with its defaults spelt out.
func (s Suite) MarshalYAML() (any, error) {
	w := written{Suite: plain(s)}
	for _, t := range s.Thresholds {
		l := limit{Lock: t.Subject, Section: t.Section, Metric: t.Metric, Min: t.Min, Max: t.Max, ToBaseline: t.ToBaseline}
		if t.Clients > 0 {
			l.Clients = []int{t.Clients}
		}
		if t.To != "" {
			l.To = []string{t.To}
		}
		w.Thresholds = append(w.Thresholds, l)
	}
	return w, nil
}

// lockMapping is a lock that is more than a name.
type lockMapping struct {
	Name   string            `yaml:"name"`
	As     string            `yaml:"as,omitempty"`
	Params map[string]string `yaml:"params,omitempty"`
}

// UnmarshalYAML reads a name, name@deployment, or a mapping.
func (l *Lock) UnmarshalYAML(n *yaml.Node) error {
	m := lockMapping{Name: n.Value}
	if n.Kind == yaml.MappingNode {
		if err := n.Decode(&m); err != nil {
			return err
		}
	}
	l.Name, l.Deployment, _ = strings.Cut(m.Name, "@")
	l.As, l.Params = m.As, m.Params
	return nil
}

// MarshalYAML writes it as short as it can be.
func (l Lock) MarshalYAML() (any, error) {
	if l.As == "" && len(l.Params) == 0 {
		return l.place(), nil
	}
	return lockMapping{l.place(), l.As, l.Params}, nil
}

// UnmarshalYAML reads a number, or the word for one each.
func (k *Keys) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "clients" {
		*k = OneEach
		return nil
	}
	return n.Decode((*int)(k))
}

// MarshalYAML writes a number, or the word for one each.
func (k Keys) MarshalYAML() (any, error) {
	if k == OneEach {
		return "clients", nil
	}
	return int(k), nil
}
