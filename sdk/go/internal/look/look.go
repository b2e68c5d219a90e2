//go:build !wasip1

// Package look lets a tool look at a driver or a policy natively, before it makes a component of it.
package look

import (
	"encoding/json"
	"fmt"
	"os"
)

// Variable is set by the tool. What is served then says what it is, and the program ends.
const Variable = "MACHINIST_LOOK"

// Report is what the tool reads.
type Report struct {
	// Kind is driver or health-policy.
	Kind string `json:"kind"`
	// Problem is empty when all is well.
	Problem string `json:"problem,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Reboots says whether the driver starts machines anew.
	Reboots bool `json:"reboots"`
}

// At reports when the tool asks for it, and ends the program.
func At(report func() Report) {
	if os.Getenv(Variable) == "" {
		return
	}
	text, err := json.Marshal(report())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
	os.Exit(0)
}
