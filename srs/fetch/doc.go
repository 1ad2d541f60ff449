// Package fetch downloads published keys from IPFS gateways over HTTPS.
//
// A file of up to 58 GB comes in ranges over several connections and in any
// order. What has come is remembered beside the partial file, so an interrupted
// download goes on where it was, also after a restart. Gateways are not trusted:
// the digest of the whole file is compared with the published one before the
// file gets its name.
//
// Source: RFC 9110 section 14 for ranges; the trustless part of the gateway
// form, https://HOST/ipfs/CID, from the IPFS HTTP gateway specification.
//
// Invariants:
//
//  1. No file has a key's name unless its digest is the published one; a file
//     that had the name before stays until then.
//  2. A gateway that cuts, stalls, lies or does not know the file costs time,
//     never correctness; the next gateway goes on with what is there.
//  3. What a wrong gateway served is thrown away, and then each gateway is asked
//     for the whole file by itself, so that one liar does not spoil the others.
//  4. A download that makes progress never gives up; one that makes none ends
//     after [Options.Retries] tries a gateway.
package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"cuzk/srs"
)

// Errors that callers branch on.
var (
	// ErrNoSpace: the file system has less room than the download needs.
	ErrNoSpace = errors.New("not enough disk space")
	// ErrUnavailable: no gateway served the file.
	ErrUnavailable = errors.New("no gateway served the file")
	// ErrBusy: another process downloads the same file to the same place.
	ErrBusy = errors.New("another process downloads this file")
	// ErrContent: what was served is not the published file.
	ErrContent = fmt.Errorf("%w: what was served is not the published file", srs.ErrCorrupt)
)

// Options say how to download. Zero values mean the defaults in parentheses.
type Options struct {
	Gateways []string           // addresses to which a CID is appended; at least one
	Parallel int                // connections a file (4)
	Part     int64              // bytes of a range (64 MiB)
	Retries  int                // tries without progress before a gateway is given up (6)
	Backoff  time.Duration      // wait before the second try, doubled each time to 30 s (1 s)
	Stall    time.Duration      // a connection without a byte for this long is cut (30 s)
	Client   *http.Client       // (one without HTTP/2, through the environment's proxy)
	Progress func(Progress)     // is called about four times a second
	Warn     func(error)        // what went wrong and was got over
	Keys     srs.Options        // memory of digests, for files that are there already
	Free     func(string) int64 // free bytes below a directory; -1: unknown (statfs)
}

// Phases of a download.
const (
	Fetching  = "fetch"
	Verifying = "verify"
)

// Progress is how far one file is.
type Progress struct {
	File  string
	Phase string // Fetching or Verifying
	Done  int64  // bytes, those of earlier runs included
	Total int64
	Rate  float64       // bytes a second, lately
	Left  time.Duration // 0 while unknown
}

const (
	maxBackoff  = 30 * time.Second
	defaultPart = 64 << 20
)

// filled replaces zero values by the defaults.
func (o Options) filled() Options {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Part <= 0 {
		o.Part = defaultPart
	}
	if o.Retries <= 0 {
		o.Retries = 6
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.Client == nil {
		o.Client = newClient(o.Parallel)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Free == nil {
		o.Free = freeBytes
	}
	return o
}

// newClient makes a client whose connections are separate: over HTTP/2 all
// ranges would share one, and one window.
func newClient(parallel int) *http.Client {
	var h1 http.Protocols
	h1.SetHTTP1(true)
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		Protocols:             &h1,
		MaxIdleConnsPerHost:   parallel,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		DisableCompression:    true,
	}}
}
