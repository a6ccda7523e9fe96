package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/lock"
	"github.com/writ-dev/writ/engine/tool"
)

// attempts is how often a call starts over when the generation or the names
// of its locks change under it.
const attempts = 3

// prepare fixes what the call would do. Previous is the effect that was
// approved, when the call is prepared again.
func (p *Pipeline) prepare(ctx context.Context, f *flight, previous *call.Effect) *refusalError {
	begin := p.Now()
	defer func() { f.record.Stages.Prepare += p.Now().Sub(begin).Microseconds() }()
	if n := len(f.request.Arguments); n > p.Limits.ArgumentsBytes {
		return refusal("invalid_arguments", "the arguments have %d bytes, more than %d", n, p.Limits.ArgumentsBytes)
	}
	arguments, refused := p.settle(ctx, f)
	if refused != nil {
		return refused
	}
	ctx, cancel := context.WithTimeout(ctx, f.tool.Timeout)
	defer cancel()
	prepared, environment, err := f.tool.Prepare(ctx, f.request, arguments, false, previous)
	if err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		return explainFailure(err)
	}
	prepared.Generation = f.live.Generation
	f.prepared, f.environment = prepared, environment
	return nil
}

// settle finds the tool, decodes the arguments and takes the locks, all under
// one generation.
func (p *Pipeline) settle(ctx context.Context, f *flight) (tool.Arguments, *refusalError) {
	for range attempts {
		arguments, refused := p.decode(f, p.Live.Current())
		if refused != nil {
			return arguments, refused
		}
		release, err := p.locks.Acquire(ctx, arguments.Locks, lock.Wait)
		switch {
		case errors.Is(err, lock.ErrBusy):
			return arguments, refusal("busy", "%v; try again later", lock.ErrBusy)
		case err != nil:
			return arguments, stopped(ctx)
		}
		f.unlock = release
		live, locks := f.live, arguments.Locks
		if len(locks) > 0 || p.Live.Current() != live {
			// What the arguments name may have changed during the wait.
			if arguments, refused = p.decode(f, p.Live.Current()); refused != nil {
				return arguments, refused
			}
		}
		if f.live == live && slices.Equal(locks, arguments.Locks) {
			return arguments, nil
		}
		release()
	}
	return tool.Arguments{}, refusal("busy", "the configuration keeps changing; try again")
}

// decode finds the tool of a generation and reads the arguments.
func (p *Pipeline) decode(f *flight, live *catalog.Catalog) (tool.Arguments, *refusalError) {
	f.live, f.tool = live, nil
	f.record.Generation = live.Generation
	t := live.Tool(f.request.Tool)
	if t == nil || !t.Enabled {
		return tool.Arguments{}, refusal("unknown_tool", "there is no tool of this name")
	}
	f.tool = t
	f.record.Tool, f.record.ToolDigest = t.Name, t.Digest.String()
	if t.Unavailable != "" {
		return tool.Arguments{}, refusal("unavailable", "the tool is not available: %s", t.Unavailable)
	}
	arguments, err := t.Decode(f.request, live.Roots)
	if err != nil {
		return arguments, explainFailure(err)
	}
	return arguments, nil
}

// explainFailure makes a refusal of what went wrong while a call was prepared.
func explainFailure(err error) *refusalError {
	var invalid *tool.InvalidError
	var refused *tool.RefusedError
	switch {
	case errors.As(err, &invalid):
		return refusal("invalid_arguments", "%v", err)
	case errors.As(err, &refused):
		return refusal("refused", "%v", err)
	}
	return refusal("not_prepared", "%v", err)
}
