package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockbench/internal/world/servers"
)

// mixed is the hash of an entry if no content of the entry has a majority of the servers.
const mixed = 1

// majority returns the entries that a majority of the servers have. The returned lease of an entry is the longest that a
// majority of the servers reach. If a majority have the same content, only their leases count.
func majority(read [][]servers.Entry) (all []servers.Entry) {
	needed := len(read)/2 + 1
	byName := map[string][]servers.Entry{}
	for _, of := range read {
		for _, e := range of {
			byName[e.Name] = append(byName[e.Name], e)
		}
	}
	for name, copies := range byName {
		if len(copies) < needed {
			continue
		}
		hash := uint64(mixed)
		if equal := largest(copies); len(equal) >= needed {
			copies, hash = equal, equal[0].Hash
		}
		slices.SortFunc(copies, func(a, b servers.Entry) int { return cmp.Compare(end(b.Left), end(a.Left)) })
		all = append(all, servers.Entry{Name: name, Hash: hash, Left: copies[needed-1].Left})
	}
	slices.SortFunc(all, func(a, b servers.Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// largest returns the largest group of entries with the same content.
func largest(copies []servers.Entry) (group []servers.Entry) {
	byHash := map[uint64][]servers.Entry{}
	for _, e := range copies {
		byHash[e.Hash] = append(byHash[e.Hash], e)
		if len(byHash[e.Hash]) > len(group) {
			group = byHash[e.Hash]
		}
	}
	return group
}

// end returns a value for comparing leases. An entry that never expires has the largest value.
func end(left time.Duration) time.Duration {
	if left == servers.Unending {
		return 1<<63 - 1
	}
	return left
}
