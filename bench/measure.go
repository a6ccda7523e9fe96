package main

import (
	"slices"
	"time"
)

// way is one way of doing some work: it works for a turn and returns the time
// of one operation.
type way func() (time.Duration, error)

// turns lets the ways take turns (A B C A B C …) and returns, for each way, the
// figure of each round.
func turns(rounds int, ways ...way) ([][]time.Duration, error) {
	figures := make([][]time.Duration, len(ways))
	for range rounds {
		for i, w := range ways {
			d, err := w()
			if err != nil {
				return nil, err
			}
			figures[i] = append(figures[i], d)
		}
	}
	return figures, nil
}

// turn is how long a way in memory works before the next has its turn.
const turn = 20 * time.Millisecond

// each makes a way of an operation in memory.
func each(operation func() error) way {
	return func() (time.Duration, error) {
		begin := time.Now()
		for n := 1; ; n++ {
			if err := operation(); err != nil {
				return 0, err
			}
			if n%64 != 0 && n > 64 {
				continue // the clock costs as much as some operations
			}
			if passed := time.Since(begin); passed >= turn {
				return passed / time.Duration(n), nil
			}
		}
	}
}

// ratio is the median, over the rounds, of a by b.
func ratio[T time.Duration | float64](a, b []T) float64 {
	var ratios []float64
	for i := range a {
		ratios = append(ratios, float64(a[i])/float64(b[i]))
	}
	return median(ratios)
}

func median[T time.Duration | float64](figures []T) T { return quantile(figures, 0.5) }

// quantile is the smallest figure that a part of all does not exceed.
func quantile[T time.Duration | float64](figures []T, part float64) T {
	sorted := slices.Sorted(slices.Values(figures))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}
