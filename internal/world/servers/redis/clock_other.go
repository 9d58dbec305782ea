//go:build !linux

package redis

import (
	"errors"
	"time"
)

// The functions below are never called, because servers.Supported rejects Spec.Clock on this system.
type mapped struct{}

func mapFile(string) (*mapped, error) { return nil, errors.ErrUnsupported }

func (*mapped) add(time.Duration) {}

func (*mapped) close() error { return nil }
