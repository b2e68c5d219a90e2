//go:build !wasip1

// Package look lets a tool inspect a driver or a policy natively, before it builds a component.
package look

import (
	"encoding/json"
	"fmt"
	"os"
)

// Variable is set by the tool. The served driver or policy then prints its report, and the program ends.
const Variable = "MACHINIST_LOOK"

// Report is the output that the tool reads.
type Report struct {
	// Kind is driver or health-policy.
	Kind string `json:"kind"`
	// Problem is empty if there is none.
	Problem string `json:"problem,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Offers names the optional interfaces of the driver.
	Offers []string `json:"offers,omitempty"`
}

// At prints the report if the tool asks for it, and ends the program.
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
