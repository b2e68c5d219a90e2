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
	// Zone is the zone of Server; without one, the zone in which the next server is asked for.
	Zone string `json:"zone,omitempty"`
	// Full are zones of this round that had no room, at once or after they accepted a server.
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

// Returns the zones of a class that have not said no, in their order.
func (of state) left(all []string) []string {
	isFull := func(zone string) bool { return slices.Contains(of.Full, zone) }
	return slices.DeleteFunc(slices.Clone(all), isFull)
}

// Returns the zone in which a server is asked for: the noted one, as long as the class names it, so that a repetition
// stays where an answer was lost; else the first that has not said no. If all have, the round begins again.
func (of state) zoneOf(all []string) string {
	left := of.left(all)
	switch {
	case len(left) == 0:
		return all[0]
	case of.Server == 0 && slices.Contains(left, of.Zone):
		return of.Zone
	}
	return left[0]
}

// Returns the zones that have said no in this round: none, if it begins again.
func (of state) fullOf(all []string) []string {
	if len(of.left(all)) == 0 {
		return nil
	}
	return of.Full
}

// Keeps zone and round beside an error, if the outcome is open or Hetzner only puts the create off. After another
// refusal the next round begins with the first zone: a person may have to correct something for this one.
func (of state) after(err error) error {
	failure, is := err.(*driver.Error)
	switch {
	case !is || len(of.Full) == 0:
		return err
	case failure.MayHaveHappened || failure.Code == driver.Unavailable || failure.Code == driver.Aborted:
		return of.with(err)
	}
	return state{Floating: of.Floating}.with(err)
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
