package drivercalls

import "github.com/machinist-dev/machinist/sdk/go/driver"

// Offers lists the optional calls of a driver.
type Offers struct {
	Status, Initialize, Listing, VolumeIDs, Reboot bool
}

// OffersOf inspects the driver's methods.
func OffersOf(served driver.Driver) Offers {
	var offers Offers
	_, offers.Status = served.(driver.StatusGetter)
	_, offers.Initialize = served.(driver.Initializer)
	_, offers.Listing = served.(driver.Lister)
	_, offers.VolumeIDs = served.(driver.VolumeIdentifier)
	_, offers.Reboot = served.(driver.Rebooter)
	return offers
}
