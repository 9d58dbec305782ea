package matrix

import (
	"encoding/json"

	"lockbench/reports/html"
)

// BadgeName is the name of the file with a badge.
const BadgeName = "badge.json"

// badge is a badge in the format of shields.io's endpoint.
type badge struct {
	Schema  int    `json:"schemaVersion"`
	Label   string `json:"label"`
	Message string `json:"message"`
	Color   string `json:"color"`
}

// Badge returns a badge with the number of properties that passed and the number of those that apply. It is red if a property
// was violated, green if all passed, and otherwise yellow. If complete is false, some checks are missing, and it is not green.
func (r *Result) Badge(complete bool) ([]byte, error) {
	one := rowOf(r, nil)
	if one.Tone == html.Good && !complete {
		one.Tone = html.Unsure
	}
	color := map[html.Tone]string{html.Good: "brightgreen", html.Bad: "red", html.Unsure: "yellow"}[one.Tone]
	return json.Marshal(badge{1, "lockbench", one.Score, color})
}

// badge returns the badge of the library's current version in its default setting.
func (l library) badge() ([]byte, error) {
	now := l.Current()
	r := now[0]
	for _, other := range now {
		if other.Default {
			r = other
		}
	}
	return r.Badge(true)
}
