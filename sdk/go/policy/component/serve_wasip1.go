// Package component registers the policy that a component serves.
package component

import (
	"github.com/machinist-dev/machinist/sdk/go/internal/component/judge"
	"github.com/machinist-dev/machinist/sdk/go/policy"

	// The component's exports.
	_ "github.com/machinist-dev/machinist/sdk/go/internal/bindings/policy/wit_exports"
)

// Serve registers the policy. Call it in an init function.
func Serve(served policy.Policy) { judge.Serve(served) }
