package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// A checker asks upstreams whether they are well.
type checker struct {
	client *http.Client
	limit  time.Duration // for one question
}

func newChecker(transport http.RoundTripper, limit time.Duration) checker {
	return checker{limit: limit, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errUnwell says that an upstream did not answer its health check with a 2xx.
var errUnwell = errors.New("the upstream is not well")

// check asks the upstream of r, as part of what for says: "request" or
// "refresh". A route without a health check is well.
func (c checker) check(ctx context.Context, r route, what string) error {
	if r.Health == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.healthURL(), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnwell, err)
	}
	request.Header.Set("User-Agent", "drawbridge-gateway ("+what+")")
	request.Header.Set("Via", via(request))
	response, err := c.client.Do(request)
	if err != nil {
		if e := new(url.Error); errors.As(err, &e) {
			err = e.Err
		}
		return fmt.Errorf("%w: %w", errUnwell, err)
	}
	defer response.Body.Close()
	io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%w: its health check answers %d", errUnwell, response.StatusCode)
	}
	return nil
}
