package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// errStale is definite: the resource has seen a higher fencing token, so the operation had no effect.
var errStale = errors.New(Stale)

// resource is the base URL of the guarded resource. GET reads the number at a key, PUT writes it, and POST adds an order.
// The query contains the fencing token of the hold. Status 409 means that the token is stale.
type resource string

// reach is the HTTP client for the guarded resource. It uses no proxy.
var reach = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

func (r resource) read(ctx context.Context, key string, fence int64) (int64, error) {
	text, err := r.do(ctx, http.MethodGet, key, fence, "")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

func (r resource) write(ctx context.Context, key string, value, fence int64) error {
	_, err := r.do(ctx, http.MethodPut, key, fence, strconv.FormatInt(value, 10))
	return err
}

func (r resource) append(ctx context.Context, key string, fence int64) error {
	_, err := r.do(ctx, http.MethodPost, key, fence, "")
	return err
}

func (r resource) do(ctx context.Context, method, key string, fence int64, body string) (string, error) {
	where := fmt.Sprintf("%s%s?fence=%d", r, url.PathEscape(key), fence)
	req, err := http.NewRequestWithContext(ctx, method, where, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := reach.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxLine))
	switch {
	case err != nil:
		return "", err
	case res.StatusCode == http.StatusConflict:
		return "", errStale
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the resource answered %s: %s", res.Status, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
