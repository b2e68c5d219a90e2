package cloud

import (
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// meaning is what an error of the cloud means for the host and for people.
type meaning struct {
	code driver.Code
	// isTerminal is true if only another class, Secret or Machine helps.
	isTerminal bool
	advice     string
}

// rule is one row of the table. The first row that fits counts.
type rule struct {
	// status is zero for all.
	status int
	// codes and texts: one of them must fit. Texts are in lower case. Both empty fit always.
	codes, texts []string
	meaning      meaning
}

const (
	adviceQuota    = ": raise the project's quota, or delete what nobody uses"
	adviceCapacity = ": use another availabilityZone or flavorName in the MachineClass's providerSpec, or wait"
	adviceRole     = ": give the user of the Secret the role that this action needs (member)"
	adviceSubnet   = ": extend the subnet, or delete ports that nobody uses"
	// The host repeats the call in each of these cases.
	adviceRate  = ": the host asks again later; if this lasts, raise the cloud's limit of requests for the project"
	adviceAgain = ": the host asks again; if this lasts, look at the object in the cloud"
	adviceDown  = ": the host asks again; if this lasts, look at the log of the service"
	ofClass     = " in the MachineClass's providerSpec"
)

var rules = []rule{
	{codes: []string{"IpAddressGenerationFailure", "IpAddressGenerationFailureAllSubnets", "NoMoreIps"},
		texts:   []string{"no more ip addresses", "no fixed ip addresses available"},
		meaning: meaning{driver.ResourceExhausted, false, adviceSubnet}},
	{status: 409, codes: []string{"OverQuota"}, texts: []string{"quota exceeded"},
		meaning: meaning{driver.ResourceExhausted, false, adviceQuota}},
	// Quota and policy have one status and one code: only the text tells them apart.
	{status: 403, codes: []string{"PolicyNotAuthorized"},
		texts:   []string{"policy doesn't allow", "policy does not allow", "disallowed by policy"},
		meaning: meaning{driver.PermissionDenied, false, adviceRole}},
	{status: 403, texts: []string{"maximum number of metadata"},
		meaning: meaning{driver.InvalidArgument, true, ": remove some of tags" + ofClass + "; the driver adds two"}},
	{status: 403, texts: []string{"quota", "maximum number of"},
		meaning: meaning{driver.ResourceExhausted, false, adviceQuota}},
	{status: 413, texts: []string{"quota", "maximum number of volumes", "limit exceeded"},
		meaning: meaning{driver.ResourceExhausted, false, adviceQuota}},
	{texts: []string{"no valid host"},
		meaning: meaning{driver.ResourceExhausted, false, adviceCapacity}},
	{status: 400, texts: []string{"user_data", "user data"},
		meaning: meaning{driver.InvalidArgument, true, ": correct userData in the MachineClass's Secret"}},
	{status: 400, texts: []string{"too small"},
		meaning: meaning{driver.InvalidArgument, true, ": choose a larger flavorName or rootDiskSize in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"flavor"},
		meaning: meaning{driver.ResourceExhausted, false, ": correct flavorName in the MachineClass's providerSpec"}},
	{status: 401,
		meaning: meaning{driver.Unauthenticated, false, ": the token was refused twice; check that all services use the same Keystone"}},
	{status: 403,
		meaning: meaning{driver.PermissionDenied, false, adviceRole}},
	{status: 404, texts: []string{"subnet"}, meaning: meaning{driver.NotFound, false, ": correct subnetIDs" + ofClass}},
	{status: 404, texts: []string{"network"}, meaning: meaning{driver.NotFound, false, ": correct networkID or networks" + ofClass}},
	{status: 404, texts: []string{"security group"}, meaning: meaning{driver.NotFound, false, ": correct securityGroups" + ofClass}},
	{status: 404, texts: []string{"volume type"}, meaning: meaning{driver.NotFound, false, ": correct rootDiskType" + ofClass}},
	{status: 404, meaning: meaning{code: driver.NotFound}},
	{status: 400, texts: []string{"availability zone", "availability_zone"},
		meaning: meaning{driver.InvalidArgument, true, ": correct availabilityZone in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"security group", "security_group"},
		meaning: meaning{driver.InvalidArgument, true, ": correct securityGroups in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"keypair", "key_name", "key pair"},
		meaning: meaning{driver.InvalidArgument, true, ": correct keyName in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"image"},
		meaning: meaning{driver.InvalidArgument, true, ": correct imageID in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"group"},
		meaning: meaning{driver.InvalidArgument, true, ": correct serverGroupID in the MachineClass's providerSpec"}},
	{status: 400, texts: []string{"network", "subnet", "fixed ip", "fixed_ips"},
		meaning: meaning{driver.InvalidArgument, true, ": correct networkID, networks and subnetIDs in the MachineClass's providerSpec"}},
	// The volume or port is on its way into another state.
	{status: 400, texts: []string{"status must be", "invalid volume"}, meaning: meaning{driver.Aborted, false, adviceAgain}},
	{status: 400, meaning: meaning{driver.InvalidArgument, true, ": correct the MachineClass's providerSpec"}},
	{status: 413, meaning: meaning{driver.Unavailable, false, adviceRate}},
	{status: 409, texts: []string{"is locked", "locked"},
		meaning: meaning{driver.FailedPrecondition, false, ": unlock the server (openstack server unlock)"}},
	{status: 409, meaning: meaning{driver.Aborted, false, adviceAgain}},
}

func meaningOf(status int, words said) meaning {
	isRate := status == 413 && words.retryAfter != "" && words.retryAfter != "0"
	switch {
	case isRate || status == 429:
		return meaning{driver.Unavailable, false, adviceRate}
	case status >= 500:
		return meaning{driver.CodeOfStatus(status), false, adviceDown}
	}
	text := strings.ToLower(words.message)
	for _, rule := range rules {
		if rule.fits(status, words.code, text) {
			return rule.meaning
		}
	}
	return meaning{code: driver.CodeOfStatus(status)}
}

func (of rule) fits(status int, code, text string) bool {
	if of.status != 0 && of.status != status {
		return false
	}
	if len(of.codes) == 0 && len(of.texts) == 0 {
		return true
	}
	for _, wanted := range of.codes {
		if wanted == code {
			return true
		}
	}
	for _, wanted := range of.texts {
		if strings.Contains(text, wanted) {
			return true
		}
	}
	return false
}

// Texts of faults that mean: full.
var (
	faultsOfCapacity = []string{"no valid host", "exhausted all hosts", "exceeded maximum number of retries",
		"insufficient compute resources", "not enough hosts", "insufficient resources"}
	faultsOfSubnets = []string{"no fixed ip addresses available", "no more ip addresses"}
	faultsOfQuota   = []string{"quota", "maximum number of volumes", "maximum number of ports"}
)

// The programs whose logs have more than a fault says.
var programs = map[string]string{"server": "nova-compute", "volume": "cinder-volume and cinder-scheduler"}

// FaultError returns the error for a server or volume that became ERROR. It has not happened: the driver removes it.
func FaultError(what, message string) *driver.Error {
	message = presentable(message)
	text, failure := strings.ToLower(message), &driver.Error{Code: driver.Internal}
	advice := ": look at the log of " + programs[what] + "; the Machine gets another " + what
	for _, one := range []struct {
		texts  []string
		advice string
	}{{faultsOfSubnets, adviceSubnet}, {faultsOfQuota, adviceQuota}, {faultsOfCapacity, adviceCapacity}} {
		if (rule{texts: one.texts}).fits(0, "", text) {
			failure.Code, advice = driver.ResourceExhausted, one.advice
			break
		}
	}
	failure.CloudCode = "ERROR"
	failure.Message = "failed to create the " + what + ": " + driver.Quoted(orElse(message, "it is in state ERROR")) + advice
	return failure
}
