package run

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lockbench/checker"
)

// ownStyle is what a drawing needs that stands alone, beside the page's colours and its rules for drawings.
const ownStyle = `svg { background: var(--ground); color: var(--ink); font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif; }
`

// WriteLanes writes the swim lanes of a witness as an SVG file that can be opened alone: it asks for nothing, and follows
// whoever looks at it to light or dark. The faults are those of the whole history; the drawing has those within its time.
func WriteLanes(w io.Writer, property string, wit *checker.Witness, faults []checker.Band) error {
	if wit == nil || len(wit.Ops) == 0 {
		return errors.New("there is nothing to draw: the violation has no witness")
	}
	t, err := laneTemplate()
	if err != nil {
		return err
	}
	style, err := laneStyle()
	if err != nil {
		return err
	}
	drawn := drawLanes("lanes", property, wit, faults)
	var svg bytes.Buffer
	if err := t.ExecuteTemplate(&svg, "lanes", drawn); err != nil {
		return err
	}
	opening, rest, _ := strings.Cut(svg.String(), ">")
	opening = strings.Replace(opening, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
	_, err = fmt.Fprintf(w, "%s>\n<style><![CDATA[\n%s]]></style>%s\n", opening, style, rest)
	return err
}

func laneTemplate() (*template.Template, error) {
	all := (&Results{}).funcs()
	return template.New("lanes").Funcs(template.FuncMap{"px": all["px"], "add": all["add"]}).ParseFS(templates, "templates/lanes.svg.tmpl")
}

// laneStyle is what the page's style says of colours and of drawings of this kind.
func laneStyle() (string, error) {
	css, err := templates.ReadFile("templates/page.css")
	if err != nil {
		return "", err
	}
	colours, _, found := strings.Cut(string(css), "* {")
	if !found {
		return "", errors.New("the page's style does not begin with its colours")
	}
	style := colours + ownStyle
	for line := range strings.Lines(string(css)) {
		if strings.HasPrefix(line, ".lanes ") && !strings.HasPrefix(line, ".lanes {") {
			style += line
		}
	}
	return style, nil
}
