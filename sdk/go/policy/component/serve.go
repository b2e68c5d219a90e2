//go:build !wasip1

// Package component registers the policy that a component serves:
//
//	func init() { component.Serve(mypolicy.Policy{}) }
//
//	func main() {}
//
// Use an init function: the host of a component does not call main.
package component

import (
	"log/slog"

	"github.com/machinist-dev/machinist/sdk/go/internal/look"
	"github.com/machinist-dev/machinist/sdk/go/internal/policycalls"
	"github.com/machinist-dev/machinist/sdk/go/policy"
)

// Serve registers the policy. Natively it only answers tools that inspect the policy.
func Serve(served policy.Policy) {
	look.At(func() look.Report {
		report := look.Report{Kind: "health-policy"}
		if served == nil {
			report.Problem = "the policy is nil"
			return report
		}
		calls := policycalls.Calls{Policy: served, Log: slog.New(slog.DiscardHandler)}
		look.Described(&report, func() {
			about := calls.Describe()
			report.Name, report.Version = about.Name, about.Version
			report.Problem = look.CheckAbout(about.Name, about.Version, about.SettingsSchema)
		})
		return report
	})
}
