package run

// Style is the style sheet of every page of ours, so that they look alike.
func Style() (string, error) {
	css, err := templates.ReadFile("templates/page.css")
	return string(css), err
}
