//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package command

import (
	"context"
	"errors"
	"io/fs"
)

func unavailable() string {
	return "programs cannot be run on this system: their descendants could not be ended"
}

func numbers(fs.FileInfo) (device, inode int64) { return 0, 0 }

func reasonOf(error) string { return unavailable() }

type spawner struct{}

func newSpawner(Masked) *spawner { return &spawner{} }

func (*spawner) run(context.Context, start) (end, error) { return end{}, errors.New(unavailable()) }
