package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The CSI driver of the cloud's volumes.
const csiDriver = "sim.csi.machinist.dev"

const idPrefix = "sim:///"

var statesOf = map[string]driver.VMState{
	"pending":  driver.VMPending,
	"running":  driver.VMRunning,
	stopping:   driver.VMStopping,
	terminated: driver.VMStopped,
}

// Returns sim:///ZONE/ID, with which Nodes register.
func providerID(vm simVM) string { return idPrefix + vm.Zone + "/" + vm.ID }

// Returns zone and id of a provider id; false if it is not one of this cloud.
func parts(providerID string) (zone, id string, is bool) {
	rest, is := strings.CutPrefix(providerID, idPrefix)
	zone, id, _ = strings.Cut(rest, "/")
	if !is || zone == "" || id == "" || strings.Contains(id, "/") {
		return "", "", false
	}
	return zone, id, true
}

// Converts a VM. Its Node registers under its name.
func vmOf(vm simVM) driver.VM {
	shown := driver.VM{
		ProviderID:    providerID(vm),
		NodeName:      *vm.Name,
		State:         statesOf[vm.State],
		FailureDomain: vm.Zone,
	}
	for _, address := range vm.Addresses {
		shown.Addresses = append(shown.Addresses, driver.Address{Kind: address.Kind, Address: address.Address})
	}
	return shown
}

// Converts a VM of a listing.
func listed(vm simVM) driver.Listed {
	return driver.Listed{
		ProviderID:  providerID(vm),
		MachineName: vm.Tags[nameTag],
		MachineUID:  vm.Tags[uidTag],
		Created:     moment(vm.Created),
	}
}

// Returns the volume handle of a PersistentVolume's spec; empty if it is of another kind.
func volumeID(spec string, index int) (string, error) {
	var value any
	if driver.ReadJSON([]byte(spec), &value) != nil {
		return "", driver.Failed(driver.InvalidArgument, fmt.Sprintf("failed to read volume spec %d: it is not JSON", index))
	}
	var volume struct {
		CSI struct {
			Driver       string `json:"driver"`
			VolumeHandle string `json:"volumeHandle"`
		} `json:"csi"`
	}
	if driver.ReadJSON([]byte(spec), &volume) != nil || volume.CSI.Driver != csiDriver {
		return "", nil
	}
	return volume.CSI.VolumeHandle, nil
}

// Parses an RFC 3339 time in UTC. The zero time for anything else.
func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	// The package time accepts a comma before the fraction, too.
	if err != nil || !strings.HasSuffix(text, "Z") || strings.Contains(text, ",") {
		return time.Time{}
	}
	return at
}
