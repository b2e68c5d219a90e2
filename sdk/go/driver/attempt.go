package driver

import (
	"errors"
	"fmt"

	"github.com/machinist-dev/machinist/sdk/go/internal/text"
)

// Quoted returns at most 200 characters of a foreign text, in one line.
func Quoted(foreign string) string { return text.Quoted(foreign) }

// NotJSON is the error of ReadJSON: the position, and whether the rest is missing.
type NotJSON = text.NotJSON

// ReadJSON decodes foreign JSON into `into`, like json.Unmarshal. It refuses nesting deeper than 127 (the stack of a
// component is small) and text that is not Unicode. Its error is a *NotJSON, or json.Unmarshal's error for JSON that
// does not fit into `into`. Numbers in an `any` have type json.Number.
func ReadJSON(source []byte, into any) error { return text.ReadJSON(source, into) }

// CodeOfStatus returns the code for an error of which only the HTTP status is known.
func CodeOfStatus(status int) Code {
	switch status {
	case 400, 413, 422:
		return InvalidArgument
	case 401:
		return Unauthenticated
	case 403:
		return PermissionDenied
	case 404:
		return NotFound
	case 408, 504:
		return DeadlineExceeded
	case 409:
		return Aborted
	case 410, 412:
		return FailedPrecondition
	case 429:
		return Unavailable
	}
	if status >= 500 && status <= 599 {
		return Unavailable
	}
	return Unknown
}

// Attempt is one request to the cloud, with the facts that its errors need.
type Attempt struct {
	// Doing is the action, which follows "failed to" in messages.
	Doing string
	// Host receives the request.
	Host string
	// Changes says whether the request changes the cloud. A request that only reads cannot have happened.
	Changes bool
}

// CloudRefusal is an error in the cloud's own form.
type CloudRefusal struct {
	// Message is the cloud's message.
	Message string
	// CloudCode is the cloud's own code, if any.
	CloudCode string
	// Code is the contract's code; if it is Unknown, the HTTP status decides.
	Code Code
	// Terminal is true if only another class, Secret or Machine helps.
	Terminal bool
	// Advice follows the message: what a person can do.
	Advice string
}

// Refused returns the error for a refusal of the cloud.
func (attempt Attempt) Refused(answer *HTTPAnswer, refusal CloudRefusal) *Error {
	code, name := refusal.Code, ""
	if code == Unknown {
		code = CodeOfStatus(answer.Status)
	}
	if refusal.CloudCode != "" {
		name = " (" + Quoted(refusal.CloudCode) + ")"
	}
	return &Error{
		Code:            code,
		Message:         fmt.Sprintf("failed to %s: %s%s%s", attempt.Doing, Quoted(refusal.Message), name, refusal.Advice),
		CloudCode:       Quoted(refusal.CloudCode),
		RetryAfter:      answer.RetryAfter(),
		Terminal:        refusal.Terminal,
		MayHaveHappened: attempt.Changes && answer.Status >= 500,
	}
}

// NoAnswer returns the error for an error of Host.Send. It returns any error but a *NoAnswer unchanged.
func (attempt Attempt) NoAnswer(err error) error {
	var none *NoAnswer
	if !errors.As(err, &none) {
		return err
	}
	return &Error{
		Code:            none.Reason.Code(),
		Message:         fmt.Sprintf("failed to %s: %s", attempt.Doing, none.Error()),
		MayHaveHappened: attempt.Changes && none.Reason.MayHaveBeenSent(),
	}
}

// Foreign returns the error for an answer that does not come from the cloud itself: a proxy's page, or half an answer.
func (attempt Attempt) Foreign(answer *HTTPAnswer, what string) *Error {
	return &Error{
		Code: Unavailable,
		Message: fmt.Sprintf("failed to %s: %s answered %s with status %d: look at what is in between", attempt.Doing,
			attempt.Host, what, answer.Status),
		RetryAfter:      answer.RetryAfter(),
		MayHaveHappened: attempt.Changes,
	}
}

// Unexpected returns the error for a complete answer that violates the API.
func (attempt Attempt) Unexpected(what string) *Error {
	message := fmt.Sprintf("failed to %s: the answer of %s %s", attempt.Doing, attempt.Host, what)
	return &Error{Code: Internal, Message: message, MayHaveHappened: attempt.Changes}
}

// JSON decodes the body of a success with ReadJSON.
func (attempt Attempt) JSON(answer *HTTPAnswer, into any) error {
	err := ReadJSON(answer.Body, into)
	var notJSON *NotJSON
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notJSON) && notJSON.IsCutOff:
		return attempt.Foreign(answer, "with half of an answer")
	case errors.As(err, &notJSON):
		return attempt.Unexpected("is not JSON")
	default:
		return attempt.Unexpected("is not what its API promises")
	}
}
