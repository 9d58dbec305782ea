// Package broken contains locks with a known defect, each in a file. They are not in the catalog. Tests use them to check
// that the suite detects the defect.
package broken

import "lockbench/impls"

// All returns every lock of this package.
func All() []impls.Impl { return []impls.Impl{ShortExpire()} }
