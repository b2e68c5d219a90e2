package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/httpclient"
)

// An answer that is not the API's, and its cause. The library would accept some of them: an empty object as a list
// without entries, and a list without the content type of JSON as its last page.
type notTheAPIs struct {
	answer *driver.HTTPAnswer
	// True if the answer comes from something in between, or half of it is missing; false if the API breaks its
	// promise.
	isForeign bool
	what      string
}

func (err *notTheAPIs) Error() string { return "the answer " + err.what }

// Sends the library's requests through the host, with the mark by which the host adds the token, and checks each answer
// before the library reads it.
type checked struct{ host *driver.Host }

const (
	// The longest time of one request.
	longestAnswer = 30 * time.Second
	// Left of the call after a request without an answer, so that the call can say so: the library, compiled to
	// WebAssembly, takes its time. With less left, a request gets the shortest time.
	reserve        = 750 * time.Millisecond
	shortestAnswer = 100 * time.Millisecond
)

// RoundTrip returns the errors of the host unchanged.
func (of checked) RoundTrip(request *http.Request) (*http.Response, error) {
	marked := request.Clone(request.Context())
	marked.Header.Set(driver.AuthHeader, driver.AuthBearer)
	limits := driver.Limits{Answer: min(longestAnswer, max(of.host.Remaining()-reserve, shortestAnswer))}
	response, err := httpclient.Transport(of.host, limits).RoundTrip(marked)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	header := driver.Header{}
	for name := range response.Header {
		header[strings.ToLower(name)] = response.Header.Get(name)
	}
	answer := &driver.HTTPAnswer{Status: response.StatusCode, Header: header, Body: body}
	if err := check(answer, wantedOf(request.Context())); err != nil {
		return nil, err
	}
	// The library reads errors and page numbers only from answers that are called JSON.
	response.Header.Set("Content-Type", "application/json")
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func check(answer *driver.HTTPAnswer, wanted content) error {
	foreign := func(what string) error { return &notTheAPIs{answer, true, what} }
	switch {
	case answer.IsHTML():
		return foreign("with an HTML page")
	case answer.Status >= 400:
		var said struct {
			Error *struct{ Code, Message *string }
		}
		if driver.ReadJSON(answer.Body, &said) != nil || said.Error == nil || said.Error.Code == nil || *said.Error.Code == "" {
			return foreign("with something that is not Hetzner's")
		}
		return nil
	case !answer.IsSuccess():
		return foreign("with a redirect")
	case wanted == nothing && len(answer.Body) > 0:
		return foreign("with something that is not Hetzner's")
	case wanted == nothing:
		return nil
	}
	var shown shape
	err := driver.ReadJSON(answer.Body, &shown)
	var notJSON *driver.NotJSON
	switch {
	case errors.As(err, &notJSON) && notJSON.IsCutOff:
		return foreign("with half of an answer")
	case errors.As(err, &notJSON):
		return &notTheAPIs{answer, false, "is not JSON"}
	case err != nil || !shown.has(wanted):
		return &notTheAPIs{answer, false, "is not what its API promises"}
	}
	return nil
}

type wantedKey struct{}

// wanting returns a context whose requests are answered with this content. The library passes it on to the transport.
func wanting(wanted content) context.Context {
	return context.WithValue(context.Background(), wantedKey{}, wanted)
}

func wantedOf(context context.Context) content {
	wanted, _ := context.Value(wantedKey{}).(content)
	return wanted
}
