//go:build !linux

package clock

import (
	"errors"
	"time"
)

// Offset is never used on this system, because Missing returns an error.
type Offset struct{}

// NewOffset returns an error.
func NewOffset(string) (*Offset, error) { return nil, errors.ErrUnsupported }

// Add does nothing.
func (*Offset) Add(time.Duration) {}

// Close does nothing.
func (*Offset) Close() error { return nil }
