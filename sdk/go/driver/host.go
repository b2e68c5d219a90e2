package driver

import (
	"fmt"
	"log/slog"
	"time"
)

// UserDataKey is the key of the user data in grants.
const UserDataKey = "userData"

// Encoding is applied to a secret's value before it replaces the placeholder.
type Encoding uint8

// In the order of the contract.
const (
	Plain Encoding = iota
	Base64
	Form
	JSONEscape
	Gzip
)

// Refusal is the reason why the host returns no placeholder, or no value.
type Refusal uint8

// In the order of the contract.
const (
	// NotGranted means that the grants of this plugin do not allow it.
	NotGranted Refusal = iota
	// BadEncodings means that an encoding does not fit after the one before it, or that there are more than four.
	BadEncodings
	// TooMany means that this call has used up its placeholders.
	TooMany
)

// SecretRefused is the error for a secret that the host refuses. It converts to an *Error.
type SecretRefused struct {
	Key     string
	Refusal Refusal
}

// Error says what to do.
func (err *SecretRefused) Error() string {
	switch err.Refusal {
	case BadEncodings:
		return fmt.Sprintf("the secret %s cannot be encoded: it is too large, or the encodings do not fit", err.Key)
	case TooMany:
		return fmt.Sprintf("the secret %s has too many placeholders in one call", err.Key)
	default:
		return fmt.Sprintf("the secret %s is not granted: add { key: %s, places: [the header, JSON pointer or form field where it "+
			"travels] } to secrets in the plugin's grants", err.Key, err.Key)
	}
}

// As converts it to an *Error for errors.As.
func (err *SecretRefused) As(target any) bool {
	if failure, wanted := target.(**Error); wanted {
		*failure = &Error{Code: FailedPrecondition, Message: err.Error()}
		return true
	}
	return false
}

// Secret is a handle of a secret. Its value stays in the host.
type Secret interface {
	// Len returns the length of the value in bytes, before any encoding.
	Len() int
	// StartsWith returns whether user data starts with the prefix (at most 64 bytes are compared). Always false for a
	// credential.
	StartsWith(prefix []byte) bool
	// Placeholder returns a token that represents the encoded value in requests of this call. Its error is a
	// *SecretRefused.
	Placeholder(encodings ...Encoding) (string, error)
	// Reveal returns the value, if the operator granted that. Its error is a *SecretRefused.
	Reveal() ([]byte, error)
}

// Backend implements a Host. The SDK has two: the component's, and the mock of package drivertest.
type Backend interface {
	// Exchange sends a request within these limits. Its error is a *NoAnswer.
	Exchange(request HTTPRequest, url URL, limits Limits) (*HTTPAnswer, error)
	SecretKeys() []string
	// OpenSecret returns nil if there is no such key.
	OpenSecret(key string) Secret
	// UserData returns nil if the call has none.
	UserData() Secret
	Settings() string
	Remaining() time.Duration
	Log() *slog.Logger
}

// Host is a call's only access to the world.
type Host struct {
	backend Backend
	// Name of the call if it has neither secrets nor network.
	offline string
}

// NewHost returns the host of a call.
func NewHost(backend Backend) *Host { return &Host{backend: backend} }

// NewOfflineHost returns the host of a call without secrets and network. Using them is an error that says so.
func NewOfflineHost(backend Backend, call string) *Host { return &Host{backend, call} }

func (host *Host) notHere() error {
	if host.offline == "" {
		return nil
	}
	return Failed(Internal, host.offline+" has neither secrets nor network: it must answer from its arguments and the settings")
}

// Send sends a request and waits for the complete answer. Its error is a *NoAnswer. It ends before the call's deadline,
// retries nothing and follows no redirect.
func (host *Host) Send(request HTTPRequest) (*HTTPAnswer, error) {
	return host.SendWithin(Limits{}, request)
}

// SendWithin sends a request within these limits.
func (host *Host) SendWithin(limits Limits, request HTTPRequest) (*HTTPAnswer, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	url, err := ParseURL(request.URL)
	if err != nil {
		return nil, err
	}
	within, isTime := limits.within(host.Remaining())
	if !isTime {
		return nil, &NoAnswer{Reason: NoTimeLeft, Host: url.Host()}
	}
	return host.backend.Exchange(request, url, within)
}

// SecretKeys returns the keys of the Secret, sorted, without user data.
func (host *Host) SecretKeys() ([]string, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.SecretKeys(), nil
}

// Secret returns the secret of a required key; `what` describes its value in the message.
func (host *Host) Secret(key, what string) (Secret, error) {
	secret, err := host.OptionalSecret(key)
	if err == nil && secret == nil {
		message := fmt.Sprintf("the MachineClass's Secret has no key %s: add %s", key, what)
		return nil, &Error{Code: Unauthenticated, Message: message, Terminal: true}
	}
	return secret, err
}

// OptionalSecret returns nil if there is no such key.
func (host *Host) OptionalSecret(key string) (Secret, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.OpenSecret(key), nil
}

// UserData returns the machine's data at boot. Present in Create and Initialize, nil in every other call.
func (host *Host) UserData() (Secret, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.UserData(), nil
}

// Settings returns the operator's settings beside the plugin: a JSON object, `{}` if there are none. Never secret.
func (host *Host) Settings() string { return host.backend.Settings() }

// Remaining returns the time left for the call. If you cannot finish in time, answer Progress.
func (host *Host) Remaining() time.Duration { return host.backend.Remaining() }

// Log returns the log of the call. Messages are static texts; put all values that vary into attributes:
// host.Log().Info("zone has no room", "zone", zone). The host adds plugin, call and machine. It keeps 1,000 lines and
// 64 KiB of a call.
func (host *Host) Log() *slog.Logger { return host.backend.Log() }
