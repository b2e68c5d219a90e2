package machine

import (
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Page tokens begin with the part of the listing to which they belong: first servers with the cluster's mark, then
// those of machine-controller-manager that the cluster adopts.
const (
	markedPart  = "m:"
	adoptedPart = "a:"
)

// Returns one page. A token has the number of Hetzner's page.
func (of machines) list(token string) (driver.Page, error) {
	marks := marks{cluster: of.cluster, label: of.label, adopted: of.adopted}
	if of.cluster == "" {
		return driver.Page{}, marks.check()
	}
	part, page := markedPart, 1
	if token != "" {
		number, err := 0, error(nil)
		if rest, isAdopted := strings.CutPrefix(token, adoptedPart); isAdopted {
			part = adoptedPart
			number, err = strconv.Atoi(rest)
		} else {
			number, err = strconv.Atoi(strings.TrimPrefix(token, markedPart))
		}
		if err != nil || number < 1 || part+strconv.Itoa(number) != token {
			return driver.Page{}, driver.Failed(driver.InvalidArgument, "failed to list servers: the page token is not this driver's")
		}
		page = number
	}
	if part == adoptedPart && of.adopted == "" {
		// The settings have changed between two pages.
		return driver.Page{}, nil
	}
	return of.page(marks, part, page)
}

func (of machines) page(marks marks, part string, number int) (driver.Page, error) {
	selector := clusterLabel + "==" + of.label
	if part == adoptedPart {
		selector = mcmClusterLabel + "==" + of.adopted + "," + mcmRoleLabel + "==" + role + ",!" + clusterLabel
	}
	servers, next, err := of.cloud.ServerPage(selector, number)
	if err != nil {
		return driver.Page{}, err
	}
	var page driver.Page
	for _, server := range servers {
		cluster, isMarked := server.Labels[clusterLabel]
		// Hetzner filters; a server that passes wrongly is still not ours.
		isOurs := isMarked && cluster == of.label
		if part == adoptedPart {
			isOurs = !isMarked && marks.adopts(server.Labels)
		}
		if isOurs {
			page.Machines = append(page.Machines, listed(server))
		}
	}
	switch {
	case next != 0:
		page.Next = part + strconv.Itoa(next)
	case part == markedPart && of.adopted != "":
		page.Next = adoptedPart + "1"
	}
	return page, nil
}
