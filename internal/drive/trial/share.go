package trial

import (
	"context"
	"fmt"
	"sync/atomic"

	"lockbench/histories"
)

// Share runs the clients of one machine in a trial that several machines share (Params.Part and Prefix). It starts no server
// and judges nothing. When the clients are connected, Share calls begin, which waits for the common start and returns the
// recorder of the history. Clients stop when Pace returns.
func (s Setting) Share(ctx context.Context, c Cell, granted *atomic.Int64, begin func(histories.Header) (*histories.Recorder, error)) error {
	if p := s.Params; p.Part.Whole() || p.Processes%p.Part.Of != 0 || !c.Workload.Divides() || c.InProcesses() {
		return fmt.Errorf("%s cannot run on several machines", c)
	}
	s.Params = s.params(c)
	s.LockParams = s.lockParams(c)
	t := newTrial(s, c, "", granted)
	if _, err := t.record(ctx, begin); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	return nil
}
