package driver

import (
	"errors"
	"fmt"

	"github.com/machinist-dev/machinist/sdk/go/internal/text"
)

// Quoted is at most 200 characters of somebody else's text, in one line.
func Quoted(foreign string) string { return text.Quoted(foreign) }

// NotJSON is the error of ReadJSON: where, and whether the rest is missing.
type NotJSON = text.NotJSON

// ReadJSON reads JSON that somebody else wrote into `into`, as json.Unmarshal does. It refuses what is nested deeper than 127
// (the stack of a component is small) and text that is not Unicode. Its error is a *NotJSON, or what json.Unmarshal says of JSON
// that does not fit into `into`. Numbers that go into an `any` are of type json.Number.
func ReadJSON(source []byte, into any) error { return text.ReadJSON(source, into) }

// CodeOfStatus is the code of an error of which only the HTTP status says something.
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

// Attempt is one thing that is tried, for the errors of it.
type Attempt struct {
	// Doing goes on after "failed to".
	Doing string
	// Host is asked.
	Host string
	// Changes says whether it changes the cloud. What only reads cannot have happened.
	Changes bool
}

// Refusal of the cloud, in its own form.
type CloudRefusal struct {
	// Message is what the cloud says.
	Message string
	// CloudCode is the cloud's own code, where it gave one.
	CloudCode string
	// Code, without which the HTTP status decides.
	Code Code
	// Terminal is true when only another class, Secret or Machine helps.
	Terminal bool
	// Advice goes behind the message: what a person can do.
	Advice string
}

// Refused: the cloud said no.
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

// NoAnswer is for an error of Host.Send. What is no *NoAnswer stays as it is.
func (attempt Attempt) NoAnswer(err error) error {
	var none *NoAnswer
	if !errors.As(err, &none) {
		return err
	}
	return &Error{
		Code:            none.Trouble.Code(),
		Message:         fmt.Sprintf("failed to %s: %s", attempt.Doing, none.Error()),
		MayHaveHappened: attempt.Changes && none.Trouble.MayHaveBeenSent(),
	}
}

// Foreign is an answer that the cloud itself does not give: a proxy's page, or half of one.
func (attempt Attempt) Foreign(answer *HTTPAnswer, what string) *Error {
	return &Error{
		Code: Unavailable,
		Message: fmt.Sprintf("failed to %s: %s answered %s with status %d: look at what is in between", attempt.Doing,
			attempt.Host, what, answer.Status),
		RetryAfter:      answer.RetryAfter(),
		MayHaveHappened: attempt.Changes,
	}
}

// Odd is a whole answer that is not what the API promises.
func (attempt Attempt) Odd(what string) *Error {
	message := fmt.Sprintf("failed to %s: the answer of %s %s", attempt.Doing, attempt.Host, what)
	return &Error{Code: Internal, Message: message, MayHaveHappened: attempt.Changes}
}

// JSON reads the body of a success, by ReadJSON.
func (attempt Attempt) JSON(answer *HTTPAnswer, into any) error {
	err := ReadJSON(answer.Body, into)
	var notJSON *NotJSON
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notJSON) && notJSON.IsCutOff:
		return attempt.Foreign(answer, "with half of an answer")
	case errors.As(err, &notJSON):
		return attempt.Odd("is not JSON")
	default:
		return attempt.Odd("is not what its API promises")
	}
}
