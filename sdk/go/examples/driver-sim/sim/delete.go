package sim

import "github.com/machinist-dev/machinist/sdk/go/driver"

// Orders the end of every VM that carries the machine's marks, and of volumes that no VM takes along.
func (of machines) delete(request driver.Request) error {
	cluster, uid := request.Cluster, request.Machine.UID
	found, err := of.cloud.find(cluster, uid)
	if err != nil {
		return err
	}
	_, id, isKnown := parts(request.Machine.ProviderID)
	for _, vm := range found {
		isKnown = isKnown && vm.ID != id
		if vm.isGoing() {
			continue
		}
		if err := of.cloud.delete(vm.ID); err != nil {
			return err
		}
	}
	if isKnown {
		if err := of.deleteByID(id, request); err != nil {
			return err
		}
	}
	return of.deleteVolumes(cluster, uid)
}

// For a VM that the listing does not show. Reads lag, so one that they do not know may be there: the order does not lag, and the id
// is one that this driver gave.
func (of machines) deleteByID(id string, request driver.Request) error {
	vm, err := of.cloud.get(id)
	switch {
	case err != nil:
		return err
	case vm != nil && (!vm.exists() || vm.isGoing()):
		return nil
	case vm != nil && !belongs(*vm, request):
		return of.foreign(*vm, request)
	}
	return of.cloud.delete(id)
}

func (of machines) deleteVolumes(cluster, uid string) error {
	volumes, err := of.cloud.volumes(cluster, uid)
	if err != nil {
		return err
	}
	for _, volume := range volumes {
		// An attached one goes with its VM. If not, it is free when the host asks again after the VM's end.
		if volume.AttachedTo != "" {
			continue
		}
		if err := of.cloud.deleteVolume(volume.ID); err != nil {
			return err
		}
	}
	return nil
}
