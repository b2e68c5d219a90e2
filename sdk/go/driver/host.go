package driver

import (
	"fmt"
	"log/slog"
	"time"
)

// UserDataKey is how grants name the user data.
const UserDataKey = "userData"

// Encoding is applied to a secret's value before it takes its placeholder's place.
type Encoding uint8

// In the order of the contract.
const (
	Plain Encoding = iota
	Base64
	Form
	JSONEscape
	Gzip
)

// Refusal is why the host gives no placeholder, or no value.
type Refusal uint8

// In the order of the contract.
const (
	// NotGranted means that the grants of this plugin do not allow it.
	NotGranted Refusal = iota
	// BadEncodings means that an encoding does not fit behind the one before it, or that there are more than four.
	BadEncodings
	// TooMany means that this call holds as many placeholders as it may.
	TooMany
)

// SecretRefused is the error of a secret that the host does not give. It is an *Error for the host.
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

// As makes it an *Error for errors.As.
func (err *SecretRefused) As(target any) bool {
	if failure, wanted := target.(**Error); wanted {
		*failure = &Error{Code: FailedPrecondition, Message: err.Error()}
		return true
	}
	return false
}

// Secret is a secret as a handle. Its value stays in the host.
type Secret interface {
	// Len is the length of the value in bytes, before any encoding.
	Len() int
	// StartsWith says whether user data starts so (64 bytes at most are compared). Always false for a credential.
	StartsWith(prefix []byte) bool
	// Placeholder is a token that stands for the encoded value in requests of this call. Its error is a *SecretRefused.
	Placeholder(encodings ...Encoding) (string, error)
	// Reveal is the value, where the operator granted that. Its error is a *SecretRefused.
	Reveal() ([]byte, error)
}

// Backend carries what a Host offers. The SDK has two: the component's, and the mock of package drivertest.
type Backend interface {
	// Exchange sends within these limits. Its error is a *NoAnswer.
	Exchange(request HTTPRequest, url URL, limits Limits) (*HTTPAnswer, error)
	SecretKeys() []string
	// OpenSecret is nil when there is no such key.
	OpenSecret(key string) Secret
	// UserData is nil when the call has none.
	UserData() Secret
	Settings() string
	Remaining() time.Duration
	Log() *slog.Logger
}

// Host is all that a call has of the world.
type Host struct {
	backend Backend
	// Name of the call when it has neither secrets nor network.
	offline string
}

// NewHost is the host of a call.
func NewHost(backend Backend) *Host { return &Host{backend: backend} }

// NewOfflineHost is the host of a call that has neither secrets nor network, and says so to who tries.
func NewOfflineHost(backend Backend, call string) *Host { return &Host{backend, call} }

func (host *Host) notHere() error {
	if host.offline == "" {
		return nil
	}
	return Failed(Internal, host.offline+" has neither secrets nor network: it must answer from its arguments and the settings")
}

// Send sends, and waits for the whole answer. Its error is a *NoAnswer: no answer came. It ends before the call's deadline does;
// nothing is retried, no redirect followed.
func (host *Host) Send(request HTTPRequest) (*HTTPAnswer, error) {
	return host.SendWithin(Limits{}, request)
}

// SendWithin sends within these limits.
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
		return nil, &NoAnswer{Trouble: NoTimeLeft, Host: url.Host()}
	}
	return host.backend.Exchange(request, url, within)
}

// SecretKeys is the keys of the Secret, sorted, without user data.
func (host *Host) SecretKeys() ([]string, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.SecretKeys(), nil
}

// Secret is the secret of a key without which nothing works; `what` says what belongs there.
func (host *Host) Secret(key, what string) (Secret, error) {
	secret, err := host.OptionalSecret(key)
	if err == nil && secret == nil {
		message := fmt.Sprintf("the MachineClass's Secret has no key %s: add %s", key, what)
		return nil, &Error{Code: Unauthenticated, Message: message, Terminal: true}
	}
	return secret, err
}

// OptionalSecret is nil when there is no such key.
func (host *Host) OptionalSecret(key string) (Secret, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.OpenSecret(key), nil
}

// UserData is what the machine gets at boot. Present in Create and Initialize, nil in every other call.
func (host *Host) UserData() (Secret, error) {
	if err := host.notHere(); err != nil {
		return nil, err
	}
	return host.backend.UserData(), nil
}

// Settings is what the operator wrote beside the plugin: a JSON object, `{}` when there is nothing. Never secret.
func (host *Host) Settings() string { return host.backend.Settings() }

// Remaining is the time that is left for the call. Who cannot finish in time answers Progress.
func (host *Host) Remaining() time.Duration { return host.backend.Remaining() }

// Log is the log of the call. Messages are static texts, and what varies goes into attributes:
// host.Log().Info("zone has no room", "zone", zone). The host adds plugin, call and machine. It keeps 1,000 lines and 64 KiB of a
// call.
func (host *Host) Log() *slog.Logger { return host.backend.Log() }
