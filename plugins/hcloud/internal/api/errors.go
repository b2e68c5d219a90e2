package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// At most this many names of fields in a message.
const mostFields = 8

// Turns an error of the library into the contract's. The library wraps the errors of the transport.
func failed(attempt driver.Attempt, err error) error {
	var known *driver.Error
	var noAnswer *driver.NoAnswer
	var strange *notTheAPIs
	var refused hcloud.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noAnswer):
		return unanswered(attempt, noAnswer)
	case errors.As(err, &known):
		return known
	case errors.As(err, &strange) && strange.answer.Status == http.StatusTooManyRequests:
		return tooMany(attempt, strange.answer)
	case errors.As(err, &strange) && strange.isForeign:
		return attempt.Foreign(strange.answer, strange.what)
	case errors.As(err, &strange):
		return attempt.Unexpected(strange.what)
	case errors.As(err, &refused):
		return refusal(attempt, refused)
	}
	// The library's own text may hold a part of the answer.
	return attempt.Unexpected("is not what its API promises")
}

// Names the clock, too, for a certificate that does not count. Nothing else in this API depends on it.
func unanswered(attempt driver.Attempt, none *driver.NoAnswer) error {
	failure := attempt.NoAnswer(none)
	var said *driver.Error
	if none.Reason == driver.TLSFailed && errors.As(failure, &said) {
		said.Message += "; a certificate counts only between two times, so check the host's clock too"
	}
	return failure
}

// A 429 is a clear no, whoever gives it: the host itself answers so, in a sentence, while the project is throttled.
func tooMany(attempt driver.Attempt, answer *driver.HTTPAnswer) error {
	message := "too many requests"
	if answer.Header.Get("machinist-throttled") == "true" {
		message = string(answer.Body)
	}
	return attempt.Refused(answer, driver.CloudRefusal{Message: message, Code: driver.Unavailable,
		Advice: meanings[hcloud.ErrorCodeRateLimitExceeded].advice})
}

func refusal(attempt driver.Attempt, refused hcloud.Error) error {
	answer := &driver.HTTPAnswer{Header: driver.Header{}}
	if response := refused.Response(); response != nil && response.Response != nil {
		answer.Status = response.StatusCode
		answer.Header["retry-after"] = response.Header.Get("Retry-After")
	}
	known := meanings[refused.Code]
	failure := attempt.Refused(answer, driver.CloudRefusal{
		Message: refused.Message, CloudCode: string(refused.Code), Code: known.code, Terminal: known.isTerminal,
		Advice: fieldsOf(refused) + known.advice,
	})
	failure.MayHaveHappened = failure.MayHaveHappened || (attempt.Changes && known.isInDoubt)
	return failure
}

// The fields of a class that become fields of a request.
var classFields = map[string]string{
	"location": "zone", "server_type": "serverType", "image": "imageName", "networks": "networkName",
	"placement_group": "placementGroupID", "firewalls": "firewalls", "labels": "labels", "public_net": "enableIPv4 and enableIPv6",
}

// Names the fields that the API refuses, without its messages: they may repeat a value, and one value is user data.
func fieldsOf(refused hcloud.Error) string {
	details, has := refused.Details.(hcloud.ErrorDetailsInvalidInput)
	if !has || len(details.Fields) == 0 {
		return ""
	}
	var names []string
	for _, field := range details.Fields[:min(len(details.Fields), mostFields)] {
		name := driver.Quoted(field.Name)
		ofClass, isKnown := classFields[field.Name]
		switch {
		case field.Name == "user_data":
			name += " (userData of the MachineClass's Secret)"
		case isKnown:
			name += " (" + ofClass + " of the MachineClass's providerSpec)"
		}
		names = append(names, name)
	}
	return " in " + strings.Join(names, ", ")
}

// ActionFailed returns the error of an action that failed, by the same table as the error of a request: nothing of it
// may have happened.
func (of *Cloud) ActionFailed(doing string, action *hcloud.Action) *driver.Error {
	known := meanings[hcloud.ErrorCode(action.ErrorCode)]
	message := fmt.Sprintf("failed to %s: %s (%s)%s", doing, driver.Quoted(action.ErrorMessage), driver.Quoted(action.ErrorCode),
		known.advice)
	code := known.code
	if code == driver.Unknown {
		code = driver.Unavailable
	}
	return &driver.Error{Code: code, Message: message, CloudCode: driver.Quoted(action.ErrorCode), Terminal: known.isTerminal}
}

// HasCode reports whether an error has this code of Hetzner's.
func HasCode(err error, code hcloud.ErrorCode) bool {
	var said *driver.Error
	return errors.As(err, &said) && said.CloudCode == string(code)
}
