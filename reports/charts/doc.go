// Package charts draws every chart of the project as SVG. Data goes in as Lines, Rows, Heat, Lanes or Histogram, or as
// several Panels in a Grid; each has a method SVG that returns an element for a page:
//
//	svg := charts.Percentiles(lines).SVG(charts.Head{ID: "latency", Title: "Latency by percentile"})
//
// Axes, grids, lines, bands and intervals are gonum's. Instead of colours, gonum is given CSS classes, which
// CSS dresses for light and dark pages. Text from outside is escaped, and the same data gives the same bytes.
//
// A Chart is a drawing with its takeaway and its data as a table; the partial "chart" of reports/html shows it.
package charts
