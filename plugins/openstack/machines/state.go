package machines

import (
	"encoding/json"
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// state is what the driver notes about a Machine for its next call.
type state struct {
	Region string `json:"region,omitempty"`
	// Server was created by this driver for this Machine.
	Server string `json:"server,omitempty"`
	// Created is when Nova accepted it, in milliseconds since 1970.
	Created int64 `json:"created,omitempty"`
	// Polls counts the calls that found it unfinished.
	Polls int `json:"polls,omitempty"`
	// HasPort and HasVolume are true from the moment before the first is created.
	HasPort   bool `json:"port,omitempty"`
	HasVolume bool `json:"volume,omitempty"`
	// Failed is the error with which a create ends when everything that it made is removed.
	Failed *failure `json:"failed,omitempty"`
	// IsOrdered is true if Nova has accepted the deletion of the server.
	IsOrdered bool `json:"ordered,omitempty"`
	// Endpoints are those of the catalog when it was read last, in milliseconds since 1970.
	Endpoints *cloud.Endpoints `json:"endpoints,omitempty"`
	ReadAt    int64            `json:"readAt,omitempty"`
	// isKnown is true if the driver has noted something before.
	isKnown bool
}

type failure struct {
	Code      uint8  `json:"code"`
	Message   string `json:"message"`
	CloudCode string `json:"cloudCode,omitempty"`
}

// parseState takes an unreadable state for none: everything is then searched.
func parseState(text string) state {
	var read state
	if text == "" || driver.ReadJSON([]byte(text), &read) != nil {
		return state{}
	}
	read.isKnown = true
	return read
}

// catalogAge is how long the endpoints of a Machine's last call are used: a create and a deletion take several calls.
const catalogAge = 10 * time.Minute

// endpoints returns nil if the catalog has to be read.
func (of state) endpoints(region string) *cloud.Endpoints {
	age := time.Since(time.UnixMilli(of.ReadAt))
	if of.Endpoints == nil || of.Endpoints.Region != region || of.Endpoints.Compute == "" || age < 0 || age > catalogAge {
		return nil
	}
	return of.Endpoints
}

func (of *state) keep(endpoints cloud.Endpoints) {
	if of.Endpoints == nil || *of.Endpoints != endpoints || time.Since(time.UnixMilli(of.ReadAt)) > catalogAge {
		of.Endpoints, of.ReadAt = &endpoints, time.Now().UnixMilli()
	}
}

func (of state) text() string {
	// Never fails: it has texts, numbers and flags.
	written, _ := json.Marshal(of)
	return string(written)
}
