package machines

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Nova's limit of user data after encoding.
const userDataBytes = 65535

// create does the next step towards exactly one server that works, and returns. Each wait is the host's.
//
// Nova has no idempotency keys, and names are not unique. The claim is in the metadata of the request that creates the
// server. Each call searches for it first, so that a create whose answer was lost is found. The search after the create
// decides between servers of two creates that did not see each other: all callers choose the same one.
func (of *machine) create(spec class.Spec) (driver.Creation, error) {
	if of.state.Failed != nil {
		return of.endFailed()
	}
	if of.state.Region != "" && of.state.Region != of.cloud.Endpoints.Region {
		return nil, driver.Failed(driver.FailedPrecondition, fmt.Sprintf("the create began in region %s, and the MachineClass's "+
			"providerSpec names %s: delete the Machine, and its MachineSet makes another",
			driver.Quoted(of.state.Region), driver.Quoted(of.cloud.Endpoints.Region)))
	}
	of.state.Region = of.cloud.Endpoints.Region
	found, err := of.candidates()
	if err != nil {
		return nil, of.noted(err)
	}
	if len(found) > 0 {
		return of.claimed(found)
	}
	if creation, err := of.hidden(); creation != nil || err != nil {
		return creation, err
	}
	creation, err := of.build(spec)
	if err != nil {
		return nil, of.noted(err)
	}
	return creation, nil
}

// candidates returns the Machine's servers, with the one that the provider id names.
func (of *machine) candidates() ([]cloud.Server, error) {
	found, err := of.named()
	if err != nil || len(found) > 0 || of.request.Machine.ProviderID == "" {
		return found, err
	}
	server, err := of.locate()
	if cloud.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []cloud.Server{*server}, nil
}

// claimed continues with the chosen one of the Machine's servers, and removes all others.
func (of *machine) claimed(found []cloud.Server) (driver.Creation, error) {
	_, kept, _ := parts(of.request.Machine.ProviderID)
	chosen, losers := choose(found, kept)
	for _, loser := range losers {
		of.host.Log().Warn("a second server of the machine is removed", "server", loser.ID, "kept", chosen.ID)
		if err := of.cloud.DeleteServer(loser.ID); err != nil {
			return nil, of.noted(withServer(err, chosen, of.cloud.Endpoints.Region))
		}
	}
	of.state.Server, of.state.IsOrdered = chosen.ID, false
	switch stage := stageOf(chosen); {
	case stage == leaving:
		return of.waiting("the earlier server of this Machine is being deleted"), nil
	case stage == failed:
		return of.fail(cloud.FaultError("server", chosen.Fault.Message))
	case stage == building:
		return of.waiting("Nova is building the server"), nil
	case len(losers) > 0:
		return of.waiting("a second server of this Machine is being removed"), nil
	}
	of.state.Polls = 0
	vm := of.vm(chosen)
	vm.LastKnownState = of.state.text()
	return vm, nil
}

// hidden decides about a server that Nova accepted and that the search does not list. Within the window the call waits.
// After it, or if the clock went back, the server's id decides: somebody may have renamed the server.
func (of *machine) hidden() (driver.Creation, error) {
	if of.state.Server == "" {
		return nil, nil
	}
	if age := time.Since(time.UnixMilli(of.state.Created)); of.state.Created > 0 && age >= 0 && age < consistencyWindow {
		return of.waiting("Nova does not list the server " + of.state.Server + " yet"), nil
	}
	server, err := of.cloud.Server(of.state.Server)
	if err != nil {
		return nil, of.noted(err)
	}
	if server != nil && exists(*server) {
		switch of.marks.byID(*server) {
		case own:
			return of.claimed([]cloud.Server{*server})
		case otherClusters, unproven:
			return nil, of.noted(of.refusal(*server))
		case neighbours, strangers:
		}
	}
	of.host.Log().Info("the server of an earlier create is gone", "server", of.state.Server)
	of.state.Server, of.state.Created, of.state.Polls, of.state.IsOrdered = "", 0, 0, false
	return nil, nil
}

// waiting returns progress with growing pauses: small clouds need two seconds for a server, large images a minute.
func (of *machine) waiting(message string) driver.Progress {
	pauses := []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second}
	pause := 10 * time.Second
	if of.state.Polls < len(pauses) {
		pause = pauses[of.state.Polls]
	}
	of.state.Polls++
	return driver.Progress{ResumeToken: of.state.text(), AskAgain: pause, Message: message}
}

// fail begins to remove everything that a failed create made. The create ends with the error when that is done.
func (of *machine) fail(failed *driver.Error) (driver.Creation, error) {
	of.host.Log().Info("the create failed, its parts are removed", "reason", failed.Message)
	of.state.Failed = &failure{Code: uint8(failed.Code), Message: failed.Message, CloudCode: failed.CloudCode}
	of.state.Polls = 0
	return of.endFailed()
}

// endFailed ends a failed create: nothing of it is left when the error is reported.
func (of *machine) endFailed() (driver.Creation, error) {
	progress, err := of.remove()
	if err != nil {
		return nil, of.noted(notMissing(err))
	}
	if progress != nil {
		return *progress, nil
	}
	failed := of.state.Failed
	rest := state{Region: of.state.Region, Endpoints: of.state.Endpoints, ReadAt: of.state.ReadAt}
	return nil, &driver.Error{Code: driver.Code(failed.Code), Message: failed.Message, CloudCode: failed.CloudCode,
		LastKnownState: rest.text()}
}

// noted adds the state to an error, so that the next call knows what exists.
func (of *machine) noted(err error) error {
	var own *driver.Error
	if !errors.As(err, &own) {
		return err
	}
	if own.LastKnownState == "" {
		own.LastKnownState = of.state.text()
	}
	if own.Code == driver.NotFound {
		// Something that the class names is missing: a network, an image, a server group.
		own.Code = driver.InvalidArgument
		if !strings.Contains(own.Message, "providerSpec") {
			own.Message += ": correct the MachineClass's providerSpec"
		}
	}
	return err
}

// withServer says that there is a server although the call failed.
func withServer(err error, server cloud.Server, region string) error {
	var own *driver.Error
	if errors.As(err, &own) {
		own.MayHaveHappened, own.ProviderID, own.NodeName = true, providerID(region, server.ID), server.Name
	}
	return err
}
