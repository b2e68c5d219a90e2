package drivercalls

import "github.com/machinist-dev/machinist/sdk/go/driver"

// Offers lists the optional calls of a driver.
type Offers struct {
	Status, Initialize, Listing, VolumeIDs, Reboot, DeleteByID bool
	// For Cluster API.
	NodeID, Placement, Interruption, Capacity bool
}

// OffersOf inspects the driver's methods.
func OffersOf(served driver.Driver) Offers {
	var offers Offers
	_, offers.Status = served.(driver.StatusGetter)
	_, offers.Initialize = served.(driver.Initializer)
	_, offers.Listing = served.(driver.Lister)
	_, offers.VolumeIDs = served.(driver.VolumeIdentifier)
	_, offers.Reboot = served.(driver.Rebooter)
	_, offers.DeleteByID = served.(driver.IDDeleter)
	_, offers.NodeID = served.(driver.NodeNamer)
	_, offers.Placement = served.(driver.Placer)
	_, offers.Interruption = served.(driver.InterruptionTeller)
	_, offers.Capacity = served.(driver.CapacityTeller)
	return offers
}

// Interfaces returns the names of the interfaces of the contract that a component may leave out and this driver has.
func (offers Offers) Interfaces() []string {
	names := []string{}
	for _, each := range []struct {
		isOffered bool
		name      string
	}{
		{offers.Reboot, "reboot"}, {offers.DeleteByID, "delete-by-id"}, {offers.NodeID, "node-id"}, {offers.Placement, "placement"},
		{offers.Interruption, "interruption"}, {offers.Capacity, "capacity"},
	} {
		if each.isOffered {
			names = append(names, each.name)
		}
	}
	return names
}
