package machines

import (
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// remove does the next step towards nothing of the Machine being left, and returns the wait for it; nil if nothing is
// left. Ports and volumes can be removed only after their server.
func (of *machine) remove() (*driver.Progress, error) {
	isServerLeft, err := of.removeServers()
	if err != nil {
		return nil, err
	}
	if isServerLeft {
		return of.removing("Nova is deleting the server"), nil
	}
	if err := of.removePorts(); err != nil {
		return nil, err
	}
	isVolumeLeft, err := of.removeVolumes()
	if err != nil {
		return nil, err
	}
	if isVolumeLeft {
		return of.removing("Cinder is deleting the volume"), nil
	}
	return nil, nil
}

func (of *machine) removing(message string) *driver.Progress {
	progress := of.waiting(message)
	return &progress
}

// removeServers orders the deletion of all servers of the Machine, and returns whether one is still there.
func (of *machine) removeServers() (bool, error) {
	found, err := of.named()
	if err != nil {
		return false, err
	}
	byID, err := of.storedServer(found)
	if err != nil {
		return false, err
	}
	if byID != nil {
		found = append(found, *byID)
	}
	for _, server := range found {
		if isLeaving(server) {
			continue
		}
		if err := of.cloud.DeleteServer(server.ID); err != nil {
			return false, err
		}
		if server.ID == of.storedID() {
			of.state.IsOrdered = true
		}
	}
	return len(found) > 0, nil
}

// storedID returns the id that the Machine or the driver has stored; empty for none.
func (of *machine) storedID() string {
	if _, id, isKnown := parts(of.request.Machine.ProviderID); isKnown {
		return id
	}
	return of.state.Server
}

// storedServer returns the server of the provider id, if the search by name has not found it and it is the Machine's.
func (of *machine) storedServer(found []cloud.Server) (*cloud.Server, error) {
	id := of.storedID()
	// After an order the search by name is enough: the host reads the server by its id before it believes that it is gone.
	if id == "" || of.state.IsOrdered {
		return nil, nil
	}
	for _, server := range found {
		if server.ID == id {
			return nil, nil
		}
	}
	server, err := of.cloud.Server(id)
	if err != nil {
		return nil, err
	}
	if server == nil || !exists(*server) {
		// Reads may be stale, an order is not: only for an id that the driver itself noted, and while it may be young.
		if id == of.state.Server && time.Since(time.UnixMilli(of.state.Created)) < consistencyWindow {
			return nil, of.cloud.DeleteServer(id)
		}
		return nil, nil
	}
	switch of.marks.byID(*server) {
	case own:
		return server, nil
	case otherClusters, unproven:
		return nil, of.refusal(*server)
	case neighbours, strangers:
	}
	of.host.Log().Info("the provider id leads to another machine's server, left alone", "server", id)
	return nil, nil
}

// removePorts removes the ports that were created for the Machine. Nova removes those that it created itself.
func (of *machine) removePorts() error {
	if !of.mayHave(of.state.HasPort, of.part.OwnsPort) {
		return nil
	}
	found, err := of.cloud.PortsNamed(of.marks.name)
	if err != nil {
		return err
	}
	for _, port := range found {
		if !of.marks.ownsPort(port) {
			continue
		}
		if err := of.cloud.DeletePort(port.ID); err != nil {
			return err
		}
	}
	return nil
}

// removeVolumes removes the volumes that were created for the Machine, and returns whether one is still there.
func (of *machine) removeVolumes() (bool, error) {
	if !of.cloud.HasVolumes() || !of.mayHave(of.state.HasVolume, of.part.OwnsVolume) {
		return false, nil
	}
	found, err := of.cloud.VolumesNamed(of.marks.name)
	if err != nil {
		return false, err
	}
	isLeft := false
	for _, volume := range found {
		if !of.marks.ownsVolume(volume) {
			continue
		}
		isLeft = true
		switch volume.Status {
		case "available", "error":
			if err := of.cloud.DeleteVolume(volume.ID); err != nil {
				return false, err
			}
		case "error_deleting":
			return false, driver.Failed(driver.FailedPrecondition, "Cinder failed to delete the volume "+volume.ID+
				": reset its state and delete it (openstack volume set --state available)")
		}
	}
	return isLeft, nil
}

// mayHave is false only if the driver has noted everything that it created, and the class asks for no such part.
func (of *machine) mayHave(isNoted, isInClass bool) bool {
	return isNoted || isInClass || !of.state.isKnown || !of.part.IsWhole || of.marks.adopted != nil
}
