package drivertest

import (
	"errors"
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/logging"
)

// The host's limits of a request.
const (
	requestBytes    = 1 << 20
	answerBytes     = 4 << 20
	requestsPerCall = 100
	logLines        = 1_000
)

var (
	withoutSecrets = map[string]bool{
		"Describe": true, "ValidateClass": true, "GetVolumeIDs": true, "NodeID": true, "Place": true,
		"IsInterruptible": true,
	}
	withUserData = map[string]bool{"Create": true, "Initialize": true}
)

// The host, as one call sees it.
type call struct {
	host        *Host
	vault       *vault
	hasNetwork  bool
	requests    int
	lines       int
	log         *slog.Logger
	hasUserData bool
}

func newCall(host *Host, name string) *call {
	of := &call{host: host, hasNetwork: !withoutSecrets[name], hasUserData: withUserData[name] && host.UserData != ""}
	of.vault = newVault(host, of.hasNetwork, of.hasUserData)
	of.log = logging.New(of)
	return of
}

func (of *call) Exchange(request driver.HTTPRequest, url driver.URL, limits driver.Limits) (*driver.HTTPAnswer, error) {
	none := func(reason driver.NoAnswerReason) error { return &driver.NoAnswer{Reason: reason, Host: url.Host()} }
	if request.Method == "" {
		request.Method = "GET"
	}
	of.host.Sent = append(of.host.Sent, request)
	of.requests++
	if !of.hasNetwork || of.requests > requestsPerCall {
		return nil, none(driver.Denied)
	}
	if len(request.Body) > requestBytes {
		return nil, none(driver.RequestTooLarge)
	}
	filled, err := of.vault.fill(request, url)
	if err != nil {
		return nil, none(driver.Denied)
	}
	of.host.Seen = append(of.host.Seen, filled)
	if of.host.Cloud == nil {
		return nil, none(driver.ConnectionRefused)
	}
	answer, err := of.host.Cloud.Answer(filled)
	var said *driver.NoAnswer
	switch {
	case errors.As(err, &said):
		return nil, &driver.NoAnswer{Reason: said.Reason, Host: url.Host(), Detail: said.Detail}
	case err != nil:
		return nil, &driver.NoAnswer{Reason: driver.Other, Host: url.Host(), Detail: err.Error()}
	case answer == nil:
		panic("the cloud of the test answers nothing to " + request.Method + " " + request.URL)
	case len(answer.Body) > min(answerBytes, limits.AnswerBytes):
		return nil, none(driver.AnswerTooLarge)
	}
	scrubbed := &driver.HTTPAnswer{Status: answer.Status, Header: driver.Header{}, Body: of.vault.scrub(answer.Body)}
	for name, value := range answer.Header {
		scrubbed.Header[name] = string(of.vault.scrub([]byte(value)))
	}
	return scrubbed, nil
}

func (of *call) SecretKeys() []string { return of.vault.keys() }

func (of *call) OpenSecret(key string) driver.Secret {
	if value, found := of.vault.values[key]; found {
		return &secret{of.vault, key, value}
	}
	return nil
}

func (of *call) UserData() driver.Secret {
	if !of.hasUserData {
		return nil
	}
	return &secret{of.vault, driver.UserDataKey, []byte(of.host.UserData)}
}

func (of *call) Settings() string {
	if of.host.Settings == "" {
		return "{}"
	}
	return of.host.Settings
}

func (of *call) Remaining() time.Duration {
	if of.host.Remaining == 0 {
		return 5 * time.Minute
	}
	return of.host.Remaining
}

func (of *call) Log() *slog.Logger { return of.log }

// Enabled implements the log.
func (of *call) Enabled(logging.Level) bool { return true }

// Emit implements the log.
func (of *call) Emit(level logging.Level, message string, fields []logging.Field) {
	if of.lines++; of.lines > logLines {
		return
	}
	clean := func(text string) string { return string(of.vault.scrub([]byte(text))) }
	line := Line{logging.SlogOf(level), clean(message), map[string]string{}}
	for _, field := range fields {
		line.Fields[field.Name] = clean(field.Value)
	}
	of.host.Lines = append(of.host.Lines, line)
}
