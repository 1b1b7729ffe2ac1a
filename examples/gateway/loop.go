package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
)

// ourselves is the name of this process in the Via header of what it sends.
// It differs from that of every other gateway, because a request may well
// pass two of them on its way.
var ourselves = "drawbridge-" + rand.Text()

// via is what this gateway adds to the Via header of a request that it has
// got as r.
func via(r *http.Request) string {
	return fmt.Sprintf("%d.%d %s", r.ProtoMajor, r.ProtoMinor, ourselves)
}

// cameBack says whether r, or the request that it is a health check for, was
// sent by this gateway: a route leads to it, maybe by way of others. Without
// an end to that, one request would make another until all memory is gone.
func cameBack(r *http.Request) bool {
	for _, header := range r.Header.Values("Via") {
		for hop := range strings.SplitSeq(header, ",") {
			if fields := strings.Fields(hop); len(fields) > 1 && fields[1] == ourselves {
				return true
			}
		}
	}
	return false
}
