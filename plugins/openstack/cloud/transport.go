package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// authFailed is set by the host if it could not log in, and did not send the request.
const authFailed = "machinist-auth"

// transport marks each request for the host's login, and judges each answer before gophercloud reads it: gophercloud
// would take an answer of another shape for an empty list, and parse without a limit of depth.
type transport struct {
	inner http.RoundTripper
	// tlsHint follows the message of a failure of TLS.
	tlsHint string
}

// RoundTrip returns an answer only if it is a success in the form of the API. Its other errors are *driver.Error.
func (of transport) RoundTrip(asked *http.Request) (*http.Response, error) {
	to := requestOf(asked.Context())
	to.Host = asked.URL.Hostname()
	answer, err := of.exchange(asked)
	if err != nil {
		return nil, of.noAnswer(to, err)
	}
	// The host drops a token that the cloud refuses, and fetches another one for the next request. The refused request
	// has certainly changed nothing; the next one may have, even without an answer.
	if answer.Status == http.StatusUnauthorized && answer.Header.Get(authFailed) == "" {
		if answer, err = of.exchange(asked); err != nil {
			return nil, of.noAnswer(to, err)
		}
	}
	if !answer.IsSuccess() {
		return nil, refusal(to, answer)
	}
	if err := check(to, answer); err != nil {
		return nil, err
	}
	return response(asked, answer), nil
}

func (of transport) exchange(asked *http.Request) (*driver.HTTPAnswer, error) {
	request := asked.Clone(asked.Context())
	request.Header.Set(driver.AuthHeader, driver.AuthKeystone)
	if asked.GetBody != nil {
		body, err := asked.GetBody()
		if err != nil {
			return nil, err
		}
		request.Body = body
	}
	received, err := of.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer received.Body.Close()
	body, err := io.ReadAll(received.Body)
	if err != nil {
		return nil, err
	}
	answer := &driver.HTTPAnswer{Status: received.StatusCode, Header: driver.Header{}, Body: body}
	for name, values := range received.Header {
		answer.Header[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return answer, nil
}

func (of transport) noAnswer(to request, err error) error {
	failure := to.NoAnswer(err)
	var none *driver.NoAnswer
	var own *driver.Error
	if errors.As(err, &none) && errors.As(failure, &own) && none.Reason == driver.TLSFailed {
		own.Message += of.tlsHint
	}
	return failure
}

// check fails unless the body of a success is JSON with the promised field.
func check(to request, answer *driver.HTTPAnswer) error {
	if answer.IsHTML() {
		return to.Foreign(answer, "with a page of HTML")
	}
	if to.key == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := to.JSON(answer, &fields); err != nil {
		return err
	}
	if value := fields[to.key]; len(value) == 0 || value[0] != firstOf(to.key) {
		return to.Unexpected("lacks " + to.key)
	}
	return nil
}

// firstOf returns the first character of a field's value: a text, a list, or an object.
func firstOf(key string) byte {
	switch {
	case key == "id":
		return '"'
	case key == "catalog" || strings.HasSuffix(key, "s"):
		return '['
	}
	return '{'
}

func response(asked *http.Request, answer *driver.HTTPAnswer) *http.Response {
	header := http.Header{}
	for name, value := range answer.Header {
		header.Set(name, value)
	}
	return &http.Response{
		StatusCode: answer.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)), Request: asked,
	}
}
