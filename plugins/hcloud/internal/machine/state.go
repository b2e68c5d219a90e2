package machine

import (
	"encoding/json"
	"slices"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Facts that the host keeps for the next call. Only this driver writes them, unlike the provider id.
type state struct {
	// Server is the server that a create of this driver has made for the Machine.
	Server int64 `json:"server,omitempty"`
	// Actions are at work on it.
	Actions []int64 `json:"actions,omitempty"`
	// Found is true if an earlier create has made the server, and this one has found it.
	Found bool `json:"found,omitempty"`
	// Asked counts the looks at the server since then.
	Asked int `json:"asked,omitempty"`
	// Zone is the zone of Server.
	Zone string `json:"zone,omitempty"`
	// Full are zones that accepted a server and then had no room to start it.
	Full []string `json:"full,omitempty"`
	// Floating is true if the class asked for a Floating IP, so that a deletion looks for it, whatever the class says
	// then.
	Floating bool `json:"floating,omitempty"`
}

// Returns the facts, and whether there are any: a Machine of another program has none.
func stateOf(request driver.Request) (read state, isKnown bool) {
	if driver.ReadJSON([]byte(request.Machine.LastKnownState), &read) != nil {
		return state{}, false
	}
	return read, true
}

// Returns the zones to try, in their order: without those that were full. If all were, the round begins again.
func (of state) zonesOf(all []string) []string {
	isFull := func(zone string) bool { return slices.Contains(of.Full, zone) }
	if left := slices.DeleteFunc(slices.Clone(all), isFull); len(left) > 0 {
		return left
	}
	return all
}

// Returns the facts for another attempt after a server that could not be started.
func (of state) withoutServer(isFull bool) state {
	next := state{Full: of.Full, Floating: of.Floating}
	if isFull && of.Zone != "" && !slices.Contains(next.Full, of.Zone) {
		next.Full = append(slices.Clone(next.Full), of.Zone)
	}
	return next
}

func (of state) text() string {
	text, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	return string(text)
}

// Keeps the facts beside an error.
func (of state) with(err error) error {
	if failure, is := err.(*driver.Error); is && failure != nil {
		kept := *failure
		kept.LastKnownState = of.text()
		return &kept
	}
	return err
}
