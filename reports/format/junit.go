package format

import (
	"encoding/xml"
	"fmt"
	"io"
)

// JUnit is a report in the XML format that CI systems read: https://github.com/testmoapp/junitxml.
type JUnit struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []JUnitSuite `xml:"testsuite"`
}

// JUnitSuite is a list of test cases with the number of cases by result. The method Add appends a case and updates the
// numbers.
type JUnitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []JUnitCase `xml:"testcase"`
}

// JUnitCase is a test case. It passed if Failure, Error and Skipped are nil.
type JUnitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *JUnitMessage `xml:"failure"`
	Error   *JUnitMessage `xml:"error"`
	Skipped *JUnitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

// JUnitMessage is the reason for a failure, an error or a skipped test case.
type JUnitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Suite returns the suite with the given name, and appends it if it is missing.
func (j *JUnit) Suite(name string) *JUnitSuite {
	for i := range j.Suites {
		if j.Suites[i].Name == name {
			return &j.Suites[i]
		}
	}
	j.Suites = append(j.Suites, JUnitSuite{Name: name})
	return &j.Suites[len(j.Suites)-1]
}

// Add appends a test case.
func (s *JUnitSuite) Add(c JUnitCase) {
	s.Tests++
	s.Cases = append(s.Cases, c)
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// Write writes the report as XML.
func (j *JUnit) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(j, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	return err
}
