//go:build !wasip1

package component

import (
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The world of a driver while a tool calls Describe natively.
type native struct{}

func (native) Exchange(_ driver.HTTPRequest, url driver.URL, _ driver.Limits) (*driver.HTTPAnswer, error) {
	return nil, &driver.NoAnswer{Reason: driver.Denied, Host: url.Host()}
}

func (native) SecretKeys() []string            { return nil }
func (native) OpenSecret(string) driver.Secret { return nil }
func (native) UserData() driver.Secret         { return nil }
func (native) Settings() string                { return "{}" }
func (native) Remaining() time.Duration        { return time.Minute }
func (native) Log() *slog.Logger               { return slog.New(slog.DiscardHandler) }
