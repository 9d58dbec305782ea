//go:build !linux

package redis

import (
	"errors"
	"time"
)

// There is no moving one server's clock here; servers.Supported says so first.
type mapped struct{}

func mapFile(string) (*mapped, error) { return nil, errors.ErrUnsupported }

func (*mapped) add(time.Duration) {}

func (*mapped) close() error { return nil }
