package cloud

import (
	"encoding/json"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// throttled is set by the host if it held the request back, in a sentence.
const throttled = "machinist-throttled"

// said is an error in the form of one of the services.
type said struct {
	// code is `badRequest` and the like of Nova and Cinder, or the type of Neutron's exception.
	code, message string
	// retryAfter is Nova's and Cinder's field for limits of rate, which have the code of a full quota.
	retryAfter string
}

// parseSaid reads the form of Nova and Cinder ({"badRequest": {"message": …}}), of Neutron ({"NeutronError": {"type":
// …}}), of Keystone ({"error": {"title": …}}), or of Glance and Placement. False if it is none of these.
func parseSaid(body []byte) (said, bool) {
	var fields map[string]json.RawMessage
	if driver.ReadJSON(body, &fields) != nil {
		return said{}, false
	}
	text := func(source json.RawMessage) string {
		var text string
		_ = json.Unmarshal(source, &text)
		return text
	}
	if title, isThere := fields["title"]; isThere {
		return said{code: text(title), message: text(fields["message"])}, true
	}
	if len(fields) != 1 {
		return said{}, false
	}
	for name, source := range fields {
		var one map[string]json.RawMessage
		if name == "NeutronError" && json.Unmarshal(source, &one) != nil {
			return said{code: name, message: text(source)}, true
		}
		if json.Unmarshal(source, &one) != nil || one["message"] == nil {
			return said{}, false
		}
		found := said{code: name, message: text(one["message"]), retryAfter: strings.Trim(string(one["retryAfter"]), `"`)}
		for _, better := range []string{"type", "title"} {
			if value := text(one[better]); value != "" {
				found.code = value
			}
		}
		return found, true
	}
	return said{}, false
}

// isAbsence is true for the codes by which the services themselves say that an object does not exist. Any other 404 may
// come from something in between: it must not count as proof that a server is gone.
func isAbsence(code string) bool {
	return strings.HasSuffix(code, "NotFound") || code == "Not Found"
}

// refusal returns the error for an answer that is no success.
func refusal(to request, answer *driver.HTTPAnswer) *driver.Error {
	if answer.Header.Get(authFailed) != "" {
		return loginFailed(to, answer)
	}
	words, isOwn := parseSaid(answer.Body)
	words.message = presentable(words.message)
	switch {
	case answer.Status == 429 && answer.Header.Get(throttled) != "":
		words.message = string(answer.Body)
	case answer.Status == 429:
		words.message = orElse(words.message, "too many requests")
	case answer.Status == 401 && !isOwn:
		words.message = "the service does not accept the token"
	case !isOwn || answer.Status == 404 && !isAbsence(words.code):
		failure := to.Foreign(answer, "with something that is not OpenStack's")
		// A clear no, whoever says it.
		failure.MayHaveHappened = to.Changes && answer.Status >= 500
		return failure
	}
	known := meaningOf(answer.Status, words)
	return to.Refused(answer, driver.CloudRefusal{
		Message: words.message, CloudCode: words.code, Code: known.code, Terminal: known.isTerminal, Advice: known.advice,
	})
}

// loginFailed is the error if the host got no token. The request itself was not sent.
func loginFailed(to request, answer *driver.HTTPAnswer) *driver.Error {
	words, isOwn := parseSaid(answer.Body)
	refused := driver.CloudRefusal{Message: "the host got no token: " + presentable(words.message), CloudCode: words.code}
	switch {
	case answer.IsHTML():
		refused.Message = "the host got no token: there is a page of HTML in place of Keystone's answer"
	case !isOwn:
		refused.Message = "the host got no token: " + string(answer.Body)
	}
	switch {
	case answer.Status == 404 || answer.Status == 405 || answer.Status == 400 || answer.Status >= 300 && answer.Status < 400:
		refused.Code = driver.FailedPrecondition
		refused.Advice = ": correct authURL, domain and project in the MachineClass's Secret"
	case answer.IsHTML():
		// A proxy's refusal says nothing about the login.
		refused.Code = driver.Unavailable
		refused.Advice = ": look at what is between the host and Keystone"
	case answer.Status == 401 || answer.Status == 403:
		refused.Code, refused.Terminal = driver.Unauthenticated, true
		refused.Advice = ": correct the login in the MachineClass's Secret; perhaps the user, the project or the application " +
			"credential is disabled or expired"
	case answer.Status == 429:
		refused.Code, refused.Advice = driver.Unavailable, adviceRate
	case answer.Status >= 500 && strings.Contains(string(answer.Body), "clock"):
		// The host's own sentence, whose end a message has no room for.
		refused.Code = driver.Unavailable
		refused.Advice = ": the token has ended by the host's clock; set this clock, or Keystone's"
	case answer.Status >= 500:
		refused.Code, refused.Advice = driver.Unavailable, adviceDown
	}
	to.Changes = false
	return to.Refused(answer, refused)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

const (
	// The field of a request that holds the user data.
	userDataField = "user_data"
	// No id, name or address is longer; user data in base64 is one word.
	longestWord = 100
	leftOut     = " (the value is left out)"
)

// presentable returns a message without the values that the cloud repeats from the request: with them it would show
// user data.
func presentable(message string) string {
	if at := strings.Index(message, " Value: "); at >= 0 {
		message = strings.TrimRight(message[:at], ".") + leftOut
	}
	// Nova names the field first, and then shows its value, however short.
	if at := strings.Index(message, userDataField); at >= 0 && at+len(userDataField) < len(message) {
		message = message[:at+len(userDataField)] + leftOut
	}
	for _, word := range strings.Fields(message) {
		if len(word) > longestWord {
			message = strings.Replace(message, word, "…", 1)
		}
	}
	return message
}
