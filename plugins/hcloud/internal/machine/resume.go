package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	// The pauses between two looks at a server that is being created double up to the longest: Hetzner needs about ten
	// seconds.
	firstPause   = 2 * time.Second
	longestPause = 8 * time.Second
)

// Continues a create. A nil answer without an error means that its server is gone, and another one is due.
func (of machines) resume(request driver.Request, marks marks, noted state) (driver.Creation, error) {
	actions, err := of.cloud.Actions(noted.Actions)
	if err != nil {
		return nil, noted.with(err)
	}
	if slices.ContainsFunc(actions, isRunning) {
		return of.progress(noted, actions), nil
	}
	server, err := of.cloud.Server(noted.Server)
	if err != nil {
		return nil, noted.with(err)
	}
	failed := slices.IndexFunc(actions, hasFailed)
	switch {
	case server == nil && failed >= 0:
		return of.unstarted(request, noted, of.cloud.ActionFailed("create the server", actions[failed]))
	case server == nil || marks.ownerOf(server) != own:
		of.host.Log().Info("the server of an earlier create is gone", "server", fmt.Sprint(noted.Server))
		return nil, nil
	}
	return of.judge(request, server, actions, noted)
}

// Decides about a server of the Machine and the actions on it.
func (of machines) judge(request driver.Request, server *hcloud.Server, actions []*hcloud.Action, noted state) (driver.Creation, error) {
	if failed := slices.IndexFunc(actions, hasFailed); failed >= 0 {
		return of.undo(request, actions[failed], noted)
	}
	switch {
	case slices.ContainsFunc(actions, isRunning):
		return of.progress(noted, actions), nil
	case server.Status == hcloud.ServerStatusDeleting:
		return nil, noted.with(inTime(driver.Aborted, fmt.Sprintf("the server %d is being deleted", server.ID)))
	case server.Status == hcloud.ServerStatusOff:
		action, err := of.cloud.PowerOn(server.ID)
		if err != nil {
			return nil, noted.with(inDoubt(err))
		}
		return of.progress(noted, []*hcloud.Action{action}), nil
	case server.Status == hcloud.ServerStatusInitializing || server.Status == hcloud.ServerStatusStarting:
		return of.progress(noted, nil), nil
	}
	vm := vmOf(server, request)
	vm.LastKnownState = state{Server: noted.Server, Zone: noted.Zone, Floating: noted.Floating}.text()
	return vm, nil
}

// Removes a server whose creation failed, so that none is left that never runs. A server that an earlier create has
// made stays: it may have run for long.
func (of machines) undo(request driver.Request, failed *hcloud.Action, noted state) (driver.Creation, error) {
	failure := of.cloud.ActionFailed("create the server", failed)
	if noted.Found {
		// The failed action must not decide the next call as well.
		noted.Actions = nil
		return nil, noted.with(failure)
	}
	if err := of.cloud.Delete(noted.Server); err != nil {
		// The next call meets the failed action again, and tries again.
		of.host.Log().Warn("a server whose creation failed is not deleted yet", "server", fmt.Sprint(noted.Server))
		return nil, noted.with(inDoubt(err))
	}
	return of.unstarted(request, noted, failure)
}

// Goes on after a server that was accepted and never ran, and that is gone or ordered away. A location without room has
// said no for certain. The pause is for the server, whose name is not free before it is gone.
func (of machines) unstarted(request driver.Request, noted state, failure *driver.Error) (driver.Creation, error) {
	spec, _, err := class.Read(request.Class)
	if err != nil || !isFull(failure) {
		return nil, noted.withoutServer(isFull(failure)).with(failure)
	}
	return of.nextZone(spec.Zones, noted, failure, lagRetry)
}

func (of machines) progress(noted state, actions []*hcloud.Action) driver.Progress {
	noted.Actions = nil
	for _, action := range actions {
		noted.Actions = append(noted.Actions, action.ID)
	}
	pause := min(firstPause<<min(noted.Asked, 4), longestPause)
	noted.Asked++
	return driver.Progress{
		ResumeToken: noted.text(),
		AskAgain:    pause,
		Message:     fmt.Sprintf("Hetzner creates the server %d", noted.Server),
	}
}

func isRunning(action *hcloud.Action) bool { return action.Status == hcloud.ActionStatusRunning }
func hasFailed(action *hcloud.Action) bool { return action.Status == hcloud.ActionStatusError }
