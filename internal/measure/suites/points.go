package suites

import (
	"fmt"
	"strconv"
	"time"

	"lockbench/reports/bench"
)

// maxPoints of a suite: more of them take days, and are a slip of the pen.
const maxPoints = 1000

// handOver is what a hold costs beyond itself, about, when a round's time is reckoned.
const handOver = 300 * time.Microsecond

// Points are the conditions of all sections, in the order of the file.
func (s *Suite) Points() []bench.Point {
	var all []bench.Point
	for i := range s.Sections {
		all = append(all, s.Sections[i].Points()...)
	}
	return all
}

// Points is every combination of clients, keys, holds and rates.
func (s *Section) Points() []bench.Point {
	rates := s.Rate
	if len(rates) == 0 {
		rates = []float64{0}
	}
	var all []bench.Point
	for _, clients := range s.Clients {
		for _, keys := range s.Keys {
			for _, hold := range s.Hold {
				for _, rate := range rates {
					all = append(all, s.point(clients, keys, hold, rate))
				}
			}
		}
	}
	return all
}

func (s *Section) point(clients int, each Keys, hold time.Duration, rate float64) bench.Point {
	keys := int(each)
	if each == OneEach {
		keys = clients
	}
	id := fmt.Sprintf("%s-%dc-%dk-%s", s.Name, clients, keys, short(hold))
	if rate > 0 {
		id += "-" + strconv.FormatFloat(rate, 'f', -1, 64) + "rps"
	}
	return bench.Point{
		ID: id, Section: s.Name, Workload: s.Workload, Clients: clients, Processes: min(s.Processes, clients), Keys: keys,
		HoldNS: int64(hold), WaitNS: int64(s.Wait), TTLNS: int64(s.TTL), Arrivals: s.Arrivals, Rate: rate, Fault: s.Fault,
		DurationNS: int64(s.window(clients, keys, hold)),
	}
}

// window is how long a trial measures: at least the duration, and the rounds. In a round each client of a key has its turn.
func (s *Section) window(clients, keys int, hold time.Duration) time.Duration {
	turns := (clients + keys - 1) / keys
	return max(s.Duration, time.Duration(s.Rounds)*time.Duration(turns)*(hold+handOver))
}

func (s *Section) combinations() int {
	return len(s.Clients) * len(s.Keys) * len(s.Hold) * max(1, len(s.Rate))
}

// short writes a duration in whole units and plain letters, since it becomes part of a folder's name.
func short(d time.Duration) string {
	switch {
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d%time.Microsecond == 0:
		return fmt.Sprintf("%dus", d/time.Microsecond)
	}
	return fmt.Sprintf("%dns", d)
}
