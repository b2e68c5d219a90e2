//go:build !wasip1

// Package component registers the driver that a component serves:
//
//	func init() { component.Serve(mydriver.Driver{}) }
//
//	func main() {}
//
// Use an init function: the host of a component does not call main.
package component

import (
	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
	"github.com/machinist-dev/machinist/sdk/go/internal/look"
)

// Serve registers the driver. Natively it only answers tools that inspect the driver.
func Serve(served driver.Driver) {
	look.At(func() look.Report {
		report := look.Report{Kind: "driver"}
		if err := drivercalls.CheckMethods(served); err != nil {
			report.Problem = err.Error()
			return report
		}
		calls := drivercalls.Calls{Driver: served, Open: func(string) driver.Backend { return native{} }}
		look.Described(&report, func() {
			about := calls.Describe()
			report.Name, report.Version, report.Offers = about.Name, about.Version, about.Offers.Interfaces()
			report.Problem = look.CheckAbout(about.Name, about.Version, about.ClassSchema)
			if report.Problem == "" && len(about.Providers) == 0 {
				report.Problem = "Describe answers no Providers: name the value of `provider` in MachineClasses that it serves"
			}
		})
		return report
	})
}
