package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/pagination"
)

const (
	// PageSize is how many servers one page of a listing has at most. Clouds may have smaller limits.
	PageSize = 500
	// A search by name has a handful of results.
	searchPages = 20
)

// everyPage returns the entries of all pages of a search. The SDK's own function follows a page that repeats until the
// host refuses further requests.
func everyPage[Entry any](to request, list func(marker string) pagination.Pager,
	extract func(pagination.Page) ([]Entry, error), idOf func(Entry) string) ([]Entry, error) {
	var all []Entry
	marker := ""
	for range searchPages {
		page, next, err := onePage(to, list(marker), marker, extract, idOf)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		marker = next
	}
	return nil, to.Unexpected("has no end")
}

// onePage sends one request, and returns the marker of the next page; empty at the end. The marker is the last id of
// the page: the link to the next page may have another scheme or host than the grants allow, where a proxy is in
// between.
func onePage[Entry any](to request, pager pagination.Pager, marker string,
	extract func(pagination.Page) ([]Entry, error), idOf func(Entry) string) (all []Entry, next string, err error) {
	err = pager.EachPage(to.context(), func(_ context.Context, page pagination.Page) (bool, error) {
		var failure error
		if all, failure = extract(page); failure != nil {
			return false, failure
		}
		next, failure = page.NextPageURL()
		return false, failure
	})
	if err = to.failed(err); err != nil {
		return nil, "", err
	}
	last := ""
	for _, entry := range all {
		last = idOf(entry)
		switch last {
		case "":
			return nil, "", to.Unexpected("has an entry without id")
		case marker:
			return nil, "", to.Unexpected("repeats a page")
		}
	}
	if next == "" {
		return all, "", nil
	}
	return all, last, nil
}
