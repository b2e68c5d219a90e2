package sim

import "github.com/machinist-dev/machinist/sdk/go/driver"

// The cloud's codes that the driver itself handles.
const (
	notFound            = "not_found"
	capacityExhausted   = "capacity_exhausted"
	idempotencyMismatch = "idempotency_mismatch"
)

type meaning struct {
	code driver.Code
	// True if only another class, Secret or Machine helps.
	isTerminal bool
	// Advice for a person, if the cloud's own message gives none.
	advice string
}

var meanings = map[string]meaning{
	"invalid_parameter": {code: driver.InvalidArgument, isTerminal: true},
	"image_not_found": {driver.InvalidArgument, true,
		": correct image in the MachineClass's providerSpec"},
	"unauthorized":      {driver.Unauthenticated, true, ": correct token in the MachineClass's Secret"},
	"forbidden":         {code: driver.PermissionDenied, advice: ": the token needs the right to change things"},
	"quota_exceeded":    {code: driver.ResourceExhausted, advice: ": raise the account's quota or delete VMs"},
	notFound:            {code: driver.NotFound},
	"conflict":          {code: driver.Aborted},
	capacityExhausted:   {code: driver.ResourceExhausted},
	idempotencyMismatch: {code: driver.Aborted},
	"idempotency_gone": {driver.FailedPrecondition, true, ": the VM of this Machine was deleted or died, and a Machine gets one VM " +
		"only; delete the Machine, and its MachineSet makes another"},
	"throttled":   {code: driver.Unavailable},
	"internal":    {code: driver.Unavailable},
	"unavailable": {code: driver.Unavailable},
}

// Parses an answer with an error status. An unknown code is classified by its status.
func refusal(attempt driver.Attempt, answer *driver.HTTPAnswer) error {
	var said struct {
		Code    *string `json:"code"`
		Message any     `json:"message"`
	}
	if driver.ReadJSON(answer.Body, &said) != nil || said.Code == nil {
		return attempt.Foreign(answer, "something that is not the cloud's")
	}
	message, isText := said.Message.(string)
	if !isText {
		message = "no message"
	}
	known := meanings[*said.Code]
	return attempt.Refused(answer, driver.CloudRefusal{
		Message: message, CloudCode: *said.Code, Code: known.code, Terminal: known.isTerminal, Advice: known.advice,
	})
}
