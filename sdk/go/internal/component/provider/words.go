//go:build wasip1

package provider

import (
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

var codes = map[driver.Code]wit.Code{
	driver.Unknown:            wit.CodeUnknown,
	driver.Canceled:           wit.CodeCanceled,
	driver.InvalidArgument:    wit.CodeInvalidArgument,
	driver.DeadlineExceeded:   wit.CodeDeadlineExceeded,
	driver.NotFound:           wit.CodeNotFound,
	driver.AlreadyExists:      wit.CodeAlreadyExists,
	driver.PermissionDenied:   wit.CodePermissionDenied,
	driver.ResourceExhausted:  wit.CodeResourceExhausted,
	driver.FailedPrecondition: wit.CodeFailedPrecondition,
	driver.Aborted:            wit.CodeAborted,
	driver.OutOfRange:         wit.CodeOutOfRange,
	driver.Unimplemented:      wit.CodeUnimplemented,
	driver.Internal:           wit.CodeInternal,
	driver.Unavailable:        wit.CodeUnavailable,
	driver.DataLoss:           wit.CodeDataLoss,
	driver.Unauthenticated:    wit.CodeUnauthenticated,
	driver.Uninitialized:      wit.CodeUninitialized,
}

var states = map[driver.VMState]wit.VmState{
	driver.VMUnknown:  wit.VmStateUnknown,
	driver.VMPending:  wit.VmStatePending,
	driver.VMRunning:  wit.VmStateRunning,
	driver.VMStopping: wit.VmStateStopping,
	driver.VMStopped:  wit.VmStateStopped,
}

func or(option types.Option[string]) string {
	value, _ := option.Get()
	return value
}

func pairs(list []types.Tuple2[string, string]) map[string]string {
	pairs := make(map[string]string, len(list))
	for _, pair := range list {
		pairs[pair.F0] = pair.F1
	}
	return pairs
}

// VMIn converts the contract's VM.
func VMIn(vm wit.Vm) driver.VM {
	in := driver.VM{
		ProviderID:     vm.ProviderId,
		NodeName:       vm.NodeName,
		FailureDomain:  or(vm.FailureDomain),
		LastKnownState: or(vm.LastKnownState),
	}
	for state, word := range states {
		if word == vm.State {
			in.State = state
		}
	}
	for _, address := range vm.Addresses {
		in.Addresses = append(in.Addresses, driver.Address{Kind: address.Kind, Address: address.Address})
	}
	for _, condition := range vm.Conditions {
		in.Conditions = append(in.Conditions, driver.Condition{
			Kind: condition.Kind, Status: condition.Status, Reason: condition.Reason, Message: condition.Message,
		})
	}
	return in
}

// Option returns no value for an empty text.
func Option(text string) types.Option[string] { return option(text) }

// ClassIn converts the contract's class.
func ClassIn(class wit.Class) driver.Class {
	return driver.Class{
		Name:         class.Name,
		Provider:     class.Provider,
		Spec:         class.Spec,
		NodeTemplate: or(class.NodeTemplate),
		Zones:        class.Zones,
	}
}

// RequestIn converts the contract's request.
func RequestIn(request wit.Request) driver.Request {
	machine := request.Machine
	return driver.Request{
		Machine: driver.Machine{
			Namespace:      machine.Namespace,
			Name:           machine.Name,
			UID:            machine.Uid,
			Labels:         pairs(machine.Labels),
			Annotations:    pairs(machine.Annotations),
			ProviderID:     or(machine.ProviderId),
			NodeTemplate:   or(machine.NodeTemplate),
			LastKnownState: or(machine.LastKnownState),
		},
		Class:          ClassIn(request.Class),
		IdempotencyKey: request.IdempotencyKey,
		Cluster:        request.Cluster,
		Deadline:       duration(request.DeadlineMs),
	}
}

func duration(milliseconds uint64) time.Duration {
	return time.Duration(min(milliseconds, 1<<42)) * time.Millisecond
}

func option(text string) types.Option[string] {
	if text == "" {
		return types.None[string]()
	}
	return types.Some(text)
}

// AboutOut converts to the contract's record.
func AboutOut(about drivercalls.About) wit.About {
	flags := map[wit.Capabilities]bool{
		wit.CapabilitiesStatus:         about.Offers.Status,
		wit.CapabilitiesInitialize:     about.Offers.Initialize,
		wit.CapabilitiesListing:        about.Offers.Listing,
		wit.CapabilitiesVolumeIds:      about.Offers.VolumeIDs,
		wit.CapabilitiesIdempotencyKey: about.IdempotencyKeys,
	}
	var capabilities wit.Capabilities
	for flag, isSet := range flags {
		if isSet {
			capabilities |= flag
		}
	}
	return wit.About{
		Name:                about.Name,
		Version:             about.Version,
		Providers:           about.Providers,
		ClassSchema:         option(about.ClassSchema),
		Capabilities:        capabilities,
		ConsistencyWindowMs: uint64(about.ConsistencyWindow.Milliseconds()),
		Hosts:               about.Hosts,
	}
}

// VMOut converts to the contract's record.
func VMOut(vm driver.VM) wit.Vm {
	out := wit.Vm{
		ProviderId:     vm.ProviderID,
		NodeName:       vm.NodeName,
		State:          states[vm.State],
		FailureDomain:  option(vm.FailureDomain),
		LastKnownState: option(vm.LastKnownState),
	}
	for _, address := range vm.Addresses {
		out.Addresses = append(out.Addresses, wit.Address{Kind: address.Kind, Address: address.Address})
	}
	for _, condition := range vm.Conditions {
		out.Conditions = append(out.Conditions, wit.Condition{
			Kind: condition.Kind, Status: condition.Status, Reason: condition.Reason, Message: condition.Message,
		})
	}
	return out
}

func progressOut(progress driver.Progress) wit.Progress {
	return wit.Progress{
		ResumeToken: progress.ResumeToken,
		AskAgainMs:  uint64(progress.AskAgain.Milliseconds()),
		Message:     progress.Message,
	}
}

// CreationOut converts to the contract's variant.
func CreationOut(creation driver.Creation) wit.Creation {
	if progress, is := creation.(driver.Progress); is {
		return wit.MakeCreationInProgress(progressOut(progress))
	}
	vm, _ := creation.(driver.VM)
	return wit.MakeCreationCreated(VMOut(vm))
}

// DeletionOut converts to the contract's variant.
func DeletionOut(deletion driver.Deletion) wit.Deletion {
	if progress, is := deletion.(driver.Progress); is {
		return wit.MakeDeletionInProgress(progressOut(progress))
	}
	deleted, _ := deletion.(driver.Deleted)
	return wit.MakeDeletionDeleted(option(deleted.LastKnownState))
}

// PageOut converts to the contract's record.
func PageOut(page driver.Page) wit.Page {
	out := wit.Page{Next: option(page.Next)}
	for _, listed := range page.Machines {
		created := types.None[uint64]()
		if since := listed.Created.UnixMilli(); !listed.Created.IsZero() && since >= 0 {
			created = types.Some(uint64(since))
		}
		out.Machines = append(out.Machines, wit.Listed{
			ProviderId:  listed.ProviderID,
			MachineName: listed.MachineName,
			MachineUid:  option(listed.MachineUID),
			CreatedAtMs: created,
		})
	}
	return out
}

// VolumeIDsOut converts to the contract's list.
func VolumeIDsOut(ids []string) []types.Option[string] {
	out := make([]types.Option[string], len(ids))
	for index, id := range ids {
		out[index] = option(id)
	}
	return out
}

// Answered returns the answer or the error as a result of the contract.
func Answered[Answer any](answer Answer, err *driver.Error) types.Result[Answer, wit.DriverError] {
	return AnsweredAs(answer, err, func(answer Answer) Answer { return answer })
}

// AnsweredAs converts the answer, and returns it or the error as a result of the contract.
func AnsweredAs[Answer, Out any](answer Answer, err *driver.Error, out func(Answer) Out) types.Result[Out, wit.DriverError] {
	if err == nil {
		return types.Ok[Out, wit.DriverError](out(answer))
	}
	retryAfter := types.None[uint64]()
	if err.RetryAfter > 0 {
		retryAfter = types.Some(uint64(max(err.RetryAfter.Milliseconds(), 1)))
	}
	return types.Err[Out](wit.DriverError{
		Code:            codes[err.Code],
		Message:         err.Message,
		CloudCode:       option(err.CloudCode),
		RetryAfterMs:    retryAfter,
		Terminal:        err.Terminal,
		MayHaveHappened: err.MayHaveHappened,
		LastKnownState:  option(err.LastKnownState),
		ProviderId:      option(err.ProviderID),
		NodeName:        option(err.NodeName),
	})
}
