//go:build darwin || freebsd || netbsd || openbsd

package mask

const noSignal = 0
