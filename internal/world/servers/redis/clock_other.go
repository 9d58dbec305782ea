//go:build !linux

package redis

import (
	"errors"
	"time"
)

// mapped is never used on this system, because servers.Supported rejects Spec.Clock here.
type mapped struct{}

func mapFile(string) (*mapped, error) { return nil, errors.ErrUnsupported }

func (*mapped) add(time.Duration) {}

func (*mapped) close() error { return nil }
