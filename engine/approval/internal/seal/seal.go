// Package seal makes authorizations. It is internal to the approval room so
// that the compiler, not a convention, decides who may make one: the desk for
// a decision that permits, and the test helper beside it.
package seal

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

var (
	// ErrNone says that an authorization was never made by the desk.
	ErrNone = errors.New("there is no authorization")
	// ErrSpent says that an authorization was used before.
	ErrSpent = errors.New("the authorization was already used")
	// ErrExpired says that an authorization came too late.
	ErrExpired = errors.New("the authorization has expired")
)

// Authorization allows one execution of exactly one prepared call. The zero
// value allows nothing. Copies share one use.
type Authorization struct{ sealed *sealed }

type sealed struct {
	prepared call.Prepared
	by       string
	asked    bool
	expires  time.Time
	spent    atomic.Bool
}

// Make seals a prepared call. By names what released it; asked says that a
// person was asked, so that time has passed since the call was prepared.
func Make(prepared call.Prepared, by string, asked bool, expires time.Time) Authorization {
	return Authorization{&sealed{prepared: prepared, by: by, asked: asked, expires: expires}}
}

// Prepared returns the call that is authorized. Ok is false for the zero value.
func (a Authorization) Prepared() (prepared call.Prepared, ok bool) {
	if a.sealed == nil {
		return call.Prepared{}, false
	}
	return a.sealed.prepared, true
}

// By names what released the call, as records spell it.
func (a Authorization) By() string {
	if a.sealed == nil {
		return ""
	}
	return a.sealed.by
}

// Asked reports whether a person was asked.
func (a Authorization) Asked() bool { return a.sealed != nil && a.sealed.asked }

// Spend uses the authorization up. Of any number of concurrent spenders one
// gets nil, and the others ErrSpent.
func (a Authorization) Spend(now time.Time) error {
	switch {
	case a.sealed == nil:
		return ErrNone
	case !now.Before(a.sealed.expires):
		return ErrExpired
	case !a.sealed.spent.CompareAndSwap(false, true):
		return ErrSpent
	}
	return nil
}
