package driver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func TestAURLIsThePartsThatARequestNeeds(test *testing.T) {
	table := map[string]driver.URL{
		"http://a":               {Authority: "a", PathWithQuery: "/"},
		"https://a:8/b?c=d":      {IsTLS: true, Authority: "a:8", PathWithQuery: "/b?c=d"},
		"http://a?b":             {Authority: "a", PathWithQuery: "/?b"},
		"https://[::1]:443/x%2F": {IsTLS: true, Authority: "[::1]:443", PathWithQuery: "/x%2F"},
	}
	for text, expected := range table {
		if parsed, err := driver.ParseURL(text); err != nil || parsed != expected {
			test.Error(text, parsed, err)
		}
	}
	hosts := map[string]string{"a": "a", "a:8": "a", "[::1]": "[::1]", "[::1]:443": "[::1]"}
	for authority, expected := range hosts {
		if host := (driver.URL{Authority: authority}).Host(); host != expected {
			test.Error(authority, host)
		}
	}
	for _, text := range []string{"", "a", "ftp://a", "http://", "http:///b", "http://me@a/", "http://a/ b", "http://a/#c", "http://a/\u00e4", "http://a\\b"} {
		_, err := driver.ParseURL(text)
		var none *driver.NoAnswer
		if !errors.As(err, &none) || none.Reason != driver.BadURL {
			test.Error(text, err)
		}
	}
}

func TestEachStatusHasACode(test *testing.T) {
	table := map[int]driver.Code{
		400: driver.InvalidArgument, 401: driver.Unauthenticated, 403: driver.PermissionDenied, 404: driver.NotFound,
		408: driver.DeadlineExceeded, 409: driver.Aborted, 410: driver.FailedPrecondition, 422: driver.InvalidArgument,
		429: driver.Unavailable, 500: driver.Unavailable, 504: driver.DeadlineExceeded, 599: driver.Unavailable,
		302: driver.Unknown, 418: driver.Unknown, 600: driver.Unknown,
	}
	for status, expected := range table {
		if code := driver.CodeOfStatus(status); code != expected {
			test.Error(status, code)
		}
	}
}

func TestAPauseIsANumberOfSeconds(test *testing.T) {
	table := map[string]time.Duration{"7": 7 * time.Second, " 07 ": 7 * time.Second, "": 0, "-1": 0, "1.5": 0, "Wed, 21 Oct 2026": 0, "99999999999": 0}
	for text, expected := range table {
		answer := driver.HTTPAnswer{Header: driver.Header{"Retry-After": text}}
		if pause := answer.RetryAfter(); pause != expected {
			test.Error(text, pause)
		}
	}
}

func TestWhatWasNotSentDidNotHappenAndWhatMayHaveBeenSentMayHave(test *testing.T) {
	table := []struct {
		reason driver.NoAnswerReason
		code   driver.Code
		sent   bool
		word   string
	}{
		{driver.Denied, driver.FailedPrecondition, false, "egress"},
		{driver.AddressDenied, driver.FailedPrecondition, false, "addresses"},
		{driver.BadURL, driver.FailedPrecondition, false, "endpoint"},
		{driver.RequestTooLarge, driver.InvalidArgument, false, "user data"},
		{driver.NoSuchHost, driver.Unavailable, false, "DNS"},
		{driver.ConnectionRefused, driver.Unavailable, false, "refuses"},
		{driver.Unreachable, driver.Unavailable, false, "network"},
		{driver.TLSFailed, driver.Unavailable, false, "certificate"},
		{driver.NoTimeLeft, driver.DeadlineExceeded, false, "time"},
		{driver.TimedOut, driver.DeadlineExceeded, true, "in time"},
		{driver.CutOff, driver.Unavailable, true, "ended"},
		{driver.AnswerTooLarge, driver.Internal, true, "larger"},
		{driver.Other, driver.Unknown, true, "oops"},
		{99, driver.Unknown, true, "oops"},
	}
	for _, row := range table {
		err := driver.Attempt{Doing: "try", Changes: true}.NoAnswer(&driver.NoAnswer{Reason: row.reason, Host: "cloud.test", Detail: "oops"})
		var said *driver.Error
		if !errors.As(err, &said) || said.Code != row.code || said.MayHaveHappened != row.sent {
			test.Error(row, err)
		}
		if !strings.Contains(said.Message, row.word) || !strings.Contains(said.Message, "cloud.test") {
			test.Error(said.Message)
		}
	}
}

func TestARefusalGoesByItsStatusUnlessItIsKnown(test *testing.T) {
	attempt := driver.Attempt{Doing: "try", Changes: true}
	said := attempt.Refused(&driver.HTTPAnswer{Status: 503}, driver.CloudRefusal{Message: strings.Repeat("x", 999), CloudCode: "busy", Advice: ": wait"})
	if said.Code != driver.Unavailable || !said.MayHaveHappened || !strings.HasSuffix(said.Message, "… (busy): wait") || len(said.Message) > 300 {
		test.Error(said)
	}
	said = attempt.Refused(&driver.HTTPAnswer{Status: 400}, driver.CloudRefusal{Message: "full", Code: driver.ResourceExhausted, Terminal: true})
	if said.Code != driver.ResourceExhausted || said.MayHaveHappened || !said.Terminal || said.Message != "failed to try: full" {
		test.Error(said)
	}
}

func TestTextIsEscapedForPathsAndQueries(test *testing.T) {
	if escaped := driver.Escaped("a-b_c.d~e/f g&ä%"); escaped != "a-b_c.d~e%2Ff%20g%26%C3%A4%25" {
		test.Error(escaped)
	}
}
