package drivertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Answers is a cloud that gives these answers in order: *driver.HTTPAnswer, or a driver.NoAnswerReason for a request
// without one.
func Answers(answers ...any) Cloud {
	return Function(func(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
		if len(answers) == 0 {
			panic("the script has no answer to " + request.Method + " " + request.URL)
		}
		next := answers[0]
		answers = answers[1:]
		switch answer := next.(type) {
		case *driver.HTTPAnswer:
			return answer, nil
		case driver.NoAnswerReason:
			return nil, Silence(answer)
		default:
			panic(fmt.Sprintf("%T is neither a *driver.HTTPAnswer nor a driver.NoAnswerReason", next))
		}
	})
}

// Silence is the error of a cloud that gives no answer.
func Silence(reason driver.NoAnswerReason) error { return &driver.NoAnswer{Reason: reason} }

// JSON returns an answer with a JSON body. Headers are names and values in turn.
func JSON(status int, value any, headers ...string) *driver.HTTPAnswer {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	answer := &driver.HTTPAnswer{Status: status, Header: driver.Header{"content-type": "application/json"}, Body: body}
	for index := 0; index+1 < len(headers); index += 2 {
		answer.Header[headers[index]] = headers[index+1]
	}
	return answer
}

// Class returns a MachineClass with this `providerSpec`: a string unchanged, anything else as JSON.
func Class(provider string, spec any, zones ...string) driver.Class {
	text, isText := spec.(string)
	if !isText {
		written, err := json.Marshal(spec)
		if err != nil {
			panic(err)
		}
		text = string(written)
	}
	return driver.Class{Name: "small", Provider: provider, Spec: text, Zones: zones}
}

// Request returns the request for the Machine with this number, in cluster c1.
func Request(number int, class driver.Class) driver.Request {
	return driver.Request{
		Machine: driver.Machine{
			Namespace: "shoot",
			Name:      fmt.Sprintf("machine-%d", number),
			UID:       fmt.Sprintf("uid-%d", number),
		},
		Class:          class,
		IdempotencyKey: fmt.Sprintf("key-%d", number),
		Cluster:        "c1",
		Deadline:       5 * time.Minute,
	}
}
