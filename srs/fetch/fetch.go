package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"cuzk/srs"
)

// Needed looks at what is there and returns the rows that have to be
// downloaded, small files first. A file that was never checked is read.
func Needed(ctx context.Context, dir string, rows []srs.Row, o Options) ([]srs.Row, error) {
	var out []srs.Row
	for _, r := range rows {
		if r.Insecure() || r.Published.CID == "" {
			continue
		}
		if r.State == srs.Unchecked {
			var err error
			if r, err = srs.Check(ctx, dir, r, o.Keys); err != nil {
				return nil, fmt.Errorf("check %s before a download: %w", r.File, err)
			}
		}
		if r.State != srs.Verified {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b srs.Row) int { return cmp.Compare(a.Want, b.Want) })
	return out, nil
}

// Room checks that the rows fit on the disk, what partial files hold already
// taken into account. The error is an [ErrNoSpace] with both numbers.
func Room(dir string, rows []srs.Row, o Options) error {
	free := o.filled().Free(dir)
	var need int64
	for _, r := range rows {
		need += r.Want - allocated(partialName(dir, r))
	}
	if free >= 0 && need > free {
		return fmt.Errorf("%w: %d bytes are to be downloaded to %s, where %d are free", ErrNoSpace, need, dir, free)
	}
	return nil
}

func freeBytes(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// allocated is how much of the disk a file takes.
func allocated(path string) int64 {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

func partialName(dir string, r srs.Row) string { return filepath.Join(dir, "."+r.File+".partial") }

// Get downloads one published file into the directory. It returns when the file
// is there under its name, whole and verified, or with an error; what has come
// until then is kept for the next call.
func Get(ctx context.Context, dir string, r srs.Row, o Options) error {
	o = o.filled()
	if r.Published.CID == "" || r.Published.Digest == "" {
		return fmt.Errorf("download %s: it was never published", r.File)
	}
	if len(o.Gateways) == 0 {
		return fmt.Errorf("download %s: %w: none is configured", r.File, ErrUnavailable)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("download %s: %w", r.File, err)
	}
	d, err := begin(dir, r, o)
	if err != nil {
		return fmt.Errorf("download %s: %w", r.File, err)
	}
	err = d.run(ctx)
	if err = errors.Join(err, d.file.Close()); err != nil {
		return fmt.Errorf("download %s: %w", r.File, err)
	}
	return nil
}

// run asks the gateways together, and each by itself if that gave something
// wrong.
func (d *download) run(ctx context.Context) error {
	err := d.attempt(ctx, d.o.Gateways)
	if !errors.Is(err, ErrContent) || len(d.o.Gateways) == 1 {
		return err
	}
	d.o.Warn(fmt.Errorf("%s: %w; asking each gateway for all of it", d.row.File, err))
	for _, g := range d.o.Gateways {
		one := d.attempt(ctx, []string{g})
		if one == nil || ctx.Err() != nil {
			return one
		}
		d.o.Warn(fmt.Errorf("%s: %w", d.row.File, one))
	}
	return err
}

// attempt downloads what is missing, verifies and publishes.
func (d *download) attempt(ctx context.Context, gateways []string) error {
	if err := d.fetchAll(ctx, gateways); err != nil {
		return err
	}
	if err := d.verify(ctx); err != nil {
		return err
	}
	return d.publish()
}

// fetchAll asks one gateway after the other until nothing is missing.
func (d *download) fetchAll(ctx context.Context, gateways []string) error {
	stop := d.watch()
	defer stop()
	var failed []error
	for _, g := range gateways {
		if d.whole() {
			return nil
		}
		err := d.from(ctx, g)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errDisk):
			return err
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", g, err))
			if len(gateways) > 1 {
				d.o.Warn(fmt.Errorf("%s: gateway %s: %w", d.row.File, g, err))
			}
		}
	}
	if !d.whole() {
		return fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(failed...))
	}
	return nil
}

// verify compares the digest of the partial file. A wrong one is thrown away.
func (d *download) verify(ctx context.Context) error {
	r := d.row
	r.File, r.State, r.Bytes = filepath.Base(d.path), srs.Unchecked, r.Want
	d.meter.phase(Verifying, 0)
	keys := srs.Options{Progress: func(_ string, done, _ int64) {
		d.meter.phase(Verifying, done)
		d.o.Progress(d.meter.read())
	}}
	r, err := srs.Check(ctx, filepath.Dir(d.path), r, keys)
	if err != nil {
		return err
	}
	if r.State != srs.Verified {
		return errors.Join(fmt.Errorf("%w: digest %s instead of %s", ErrContent, r.Digest, d.row.Published.Digest), d.reset())
	}
	return nil
}

// publish gives the file its name.
func (d *download) publish() error {
	if err := errors.Join(d.file.Chmod(0o644), d.file.Sync()); err != nil {
		return err
	}
	if err := os.Rename(d.path, filepath.Join(filepath.Dir(d.path), d.row.File)); err != nil {
		return err
	}
	if err := os.Remove(d.path + notesSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(d.path))
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
