package api

import (
	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The contract's words for one of Hetzner's codes.
type meaning struct {
	code driver.Code
	// True if only another class, Secret or Machine helps.
	isTerminal bool
	// True if nobody knows whether the work was done, whatever the status.
	isInDoubt bool
	// Advice for a person, if the API's own message gives none.
	advice string
}

const (
	adviceClass = ": correct the MachineClass's providerSpec"
	adviceBusy  = ": an action works on it; the host asks again"
	adviceDown  = ": the host asks again; https://status.hetzner.com shows outages"
)

// The table of plugins/hcloud/README.md. A code that is not in it is classified by its status.
var meanings = map[hcloud.ErrorCode]meaning{
	hcloud.ErrorCodeUnauthorized: {code: driver.Unauthenticated, isTerminal: true,
		advice: ": correct token in the MachineClass's Secret"},
	hcloud.ErrorCodeForbidden: {code: driver.PermissionDenied,
		advice: ": the token needs the permission Read & Write in its project"},
	hcloud.ErrorCodeTokenReadonly: {code: driver.PermissionDenied,
		advice: ": create a token with the permission Read & Write in the project, and put it into the MachineClass's Secret"},

	hcloud.ErrorCodeResourceLimitExceeded: {code: driver.ResourceExhausted,
		advice: ": delete resources, or ask Hetzner to raise the project's limit (Limits in the console)"},
	hcloud.ErrorCodeResourceUnavailable: {code: driver.ResourceExhausted,
		advice: ": Hetzner has no room there now; name other zones in alternativeZones, or another serverType"},
	hcloud.ErrorCodePlacementError: {code: driver.ResourceExhausted,
		advice: ": a placement group holds at most 10 servers, each on a host of its own; use another placementGroupID, or none"},
	hcloud.ErrorCodeNoSubnetAvailable: {code: driver.ResourceExhausted,
		advice: ": add a subnet in the network zone of the location to the network, or a larger one"},
	hcloud.ErrorCodeIPNotAvailable: {code: driver.ResourceExhausted,
		advice: ": add a larger subnet to the network"},

	hcloud.ErrorCodeInvalidInput:    {code: driver.InvalidArgument, isTerminal: true, advice: adviceClass},
	hcloud.ErrorCodeJSONError:       {code: driver.InvalidArgument, isTerminal: true, advice: adviceClass},
	hcloud.ErrorUnsupportedError:    {code: driver.InvalidArgument, isTerminal: true, advice: adviceClass},
	hcloud.ErrorCodeNetworksOverlap: {code: driver.InvalidArgument, isTerminal: true, advice: adviceClass},
	hcloud.ErrorCodeIncompatibleNetworkType: {code: driver.InvalidArgument, isTerminal: true,
		advice: ": correct networkName in the MachineClass's providerSpec"},
	hcloud.ErrorCodeFirewallResourceNotFound: {code: driver.InvalidArgument,
		advice: ": correct firewalls in the MachineClass's providerSpec"},
	hcloud.ErrorCodePrivateNetOnlyServer: {code: driver.InvalidArgument, isTerminal: true,
		advice: ": a server without public addresses has no firewalls"},
	hcloud.ErrorCodeInvalidServerType: {code: driver.InvalidArgument, isTerminal: true,
		advice: ": correct serverType in the MachineClass's providerSpec"},

	hcloud.ErrorCodeNotFound:        {code: driver.NotFound},
	hcloud.ErrorCodeUniquenessError: {code: driver.AlreadyExists},
	hcloud.ErrorCodeProtected: {code: driver.FailedPrecondition,
		advice: ": switch off its delete protection in Hetzner's console"},
	hcloud.ErrorCodeResourceLocked: {code: driver.FailedPrecondition,
		advice: ": Hetzner has locked it; contact Hetzner's support"},

	hcloud.ErrorCodeLocked:           {code: driver.Aborted, advice: adviceBusy},
	hcloud.ErrorCodeConflict:         {code: driver.Aborted, advice: adviceBusy},
	hcloud.ErrorCodeServerNotStopped: {code: driver.Aborted, advice: adviceBusy},

	hcloud.ErrorCodeRateLimitExceeded: {code: driver.Unavailable,
		advice: ": a project has 3600 requests an hour, for all its programs together"},
	hcloud.ErrorCodeMaintenance:      {code: driver.Unavailable, advice: adviceDown},
	hcloud.ErrorCodeRobotUnavailable: {code: driver.Unavailable, advice: adviceDown},
	hcloud.ErrorCodeBadGateway:       {code: driver.Unavailable, isInDoubt: true, advice: adviceDown},
	hcloud.ErrorCodeTimeout:          {code: driver.Unavailable, isInDoubt: true, advice: adviceDown},
	hcloud.ErrorCodeServiceError:     {code: driver.Unavailable, isInDoubt: true, advice: adviceDown},
	hcloud.ErrorCodeServerError:      {code: driver.Unavailable, isInDoubt: true, advice: adviceDown},
	hcloud.ErrorCodeUnknownError:     {code: driver.Unavailable, isInDoubt: true, advice: adviceDown},

	hcloud.ErrorDeprecatedAPIEndpoint: {code: driver.Internal,
		advice: ": Hetzner has removed this part of its API; update the plugin"},
}
