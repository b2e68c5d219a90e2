//go:build wasip1

// Package judge connects the contract's exports and imports with an author's policy.
package judge

import (
	"github.com/machinist-dev/machinist/sdk/go/internal/bindings/policy/machinist_host_log"
	"github.com/machinist-dev/machinist/sdk/go/internal/logging"
	"github.com/machinist-dev/machinist/sdk/go/internal/policycalls"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
	"github.com/machinist-dev/machinist/sdk/go/policy"
)

var served policy.Policy

// Serve registers the policy. A second one is a mistake, which fails the build of the component.
func Serve(chosen policy.Policy) {
	if served != nil {
		panic("component.Serve was called twice: a component serves one policy")
	}
	served = chosen
}

// Calls returns the calls of the policy.
func Calls() *policycalls.Calls {
	if served == nil {
		panic("no policy is served: call component.Serve in an init function of package main, not in main")
	}
	return &policycalls.Calls{Policy: served, Log: logging.New(sink{})}
}

type sink struct{}

func (sink) Enabled(level logging.Level) bool { return machinist_host_log.Enabled(uint8(level)) }

func (sink) Emit(level logging.Level, message string, fields []logging.Field) {
	pairs := make([]types.Tuple2[string, string], len(fields))
	for index, field := range fields {
		pairs[index] = types.Tuple2[string, string]{F0: field.Name, F1: field.Value}
	}
	machinist_host_log.Emit(uint8(level), message, pairs)
}
