package machines

import (
	"sort"

	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
)

// stage is how far a server is.
type stage uint8

const (
	// building: Nova works on it.
	building stage = iota
	// made: it was launched once, whatever became of it since.
	made
	// failed: it will never run.
	failed
	// leaving: Nova removes it.
	leaving
)

func stageOf(server cloud.Server) stage {
	switch {
	case isLeaving(server):
		return leaving
	case server.Status == "BUILD":
		return building
	case server.Status == "ERROR" && server.LaunchedAt.IsZero():
		return failed
	}
	return made
}

// exists is false for a server of which only its record is left.
func exists(server cloud.Server) bool {
	return server.Status != "DELETED" && server.Status != "SOFT_DELETED"
}

func isLeaving(server cloud.Server) bool {
	return server.TaskState == "deleting" || server.TaskState == "soft-deleting"
}

// choose returns the server that the Machine keeps, and those that must go. The order is the same for every caller,
// and does not change while servers are built: the one that the Machine has stored, one that can still work, the
// oldest, the smallest id. Servers that are leaving already are no losers.
func choose(servers []cloud.Server, kept string) (chosen cloud.Server, losers []cloud.Server) {
	ordered := append([]cloud.Server{}, servers...)
	rank := func(server cloud.Server) int {
		switch {
		case server.ID == kept:
			return 0
		case stageOf(server) == failed:
			return 2
		case isLeaving(server):
			return 3
		}
		return 1
	}
	sort.Slice(ordered, func(one, other int) bool {
		first, second := ordered[one], ordered[other]
		if a, b := rank(first), rank(second); a != b {
			return a < b
		}
		if !first.Created.Equal(second.Created) {
			return first.Created.Before(second.Created)
		}
		return first.ID < second.ID
	})
	for _, server := range ordered[1:] {
		if !isLeaving(server) {
			losers = append(losers, server)
		}
	}
	return ordered[0], losers
}
