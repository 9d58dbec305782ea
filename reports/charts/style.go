package charts

import "fmt"

// Style is how a subject looks in every chart: a colour, a dash and a marker, so that colour is never alone.
type Style struct {
	Color  int // 0 to 6, of Okabe and Ito; grey for the rest
	Dash   string
	Marker int
}

// Colors are as many as Okabe and Ito tell apart.
const (
	Colors  = 7
	Grey    = -1
	Markers = 6
)

// Dashes are as many as are told apart.
func Dashes() []string { return []string{"", "7 3", "2 3", "9 3 2 3", "4 4", "13 3"} }

// Class is the class by which the page's style colours it.
func (s Style) Class() string {
	if s.Color == Grey {
		return "cx"
	}
	return fmt.Sprintf("c%d", s.Color)
}
