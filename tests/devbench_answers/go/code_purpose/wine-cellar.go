package main

import (
	"errors"
	"fmt"
)

// ErrNothing says that no bottle of the cellar is fit for the occasion.
var ErrNothing = errors.New("nothing to drink")

// Bottle is a wine with the years in which it is at its best.
type Bottle struct {
	Wine     string
	From, To int
}

// Ready reports whether a bottle is at its best in a year.
func (b Bottle) Ready(year int) bool {
	return b.From <= year && year <= b.To
}

// Cellar has bottles by the number of their niche.
type Cellar struct {
	niches map[int]Bottle
	size   int
	drunk  []string
}

// NewCellar returns an empty cellar; its niches are numbered from 1.
func NewCellar(size int) *Cellar {
	return &Cellar{niches: map[int]Bottle{}, size: size}
}

// Lay puts a bottle into the first empty niche and returns its number.
func (c *Cellar) Lay(bottle Bottle) (int, error) {
	for niche := 1; niche <= c.size; niche++ {
		if _, taken := c.niches[niche]; !taken {
			c.niches[niche] = bottle
			return niche, nil
		}
	}
	return 0, fmt.Errorf("no niche for %s", bottle.Wine)
}

// best returns the niche of the first bottle that is ready and that no other ready one must be drunk before; 0 if none is.
func (c *Cellar) best(year int) int {
	chosen := 0
	for niche := 1; niche <= c.size; niche++ {
		bottle, taken := c.niches[niche]
		if taken && bottle.Ready(year) && (chosen == 0 || bottle.To < c.niches[chosen].To) {
			chosen = niche
		}
	}
	return chosen
}

// Fetch takes the bottles for an occasion out of the cellar: always the one that must be drunk first. It returns their
// wines. If there are too few, the cellar stays as it was and the error wraps ErrNothing.
func (c *Cellar) Fetch(year, bottles int) ([]string, error) {
	taken := map[int]Bottle{}
	wines := []string{}
	for len(wines) < bottles {
⟦		niche := c.best(year)
		if niche == 0 {
			for empty, bottle := range taken {
				c.niches[empty] = bottle
			}
			return nil, fmt.Errorf("bottle %d of %d: %w", len(wines)+1, bottles, ErrNothing)
		}
		taken[niche] = c.niches[niche]
		delete(c.niches, niche)
		wines = append(wines, taken[niche].Wine)
⟧	}
	c.drunk = append(c.drunk, wines...)
	return wines, nil
}
⟦tests⟧

func expect(got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		panic(fmt.Sprintf("%v instead of %v", got, want))
	}
}

func main() {
	cellar := NewCellar(4)
	for _, bottle := range []Bottle{{"oak", 2020, 2030}, {"elm", 2018, 2024}, {"fir", 2024, 2026}, {"ash", 2019, 2024}} {
		cellar.Lay(bottle)
	}
	if _, err := cellar.Lay(Bottle{"yew", 2020, 2021}); err == nil {
		panic("a fifth bottle in four niches")
	}
	wines, err := cellar.Fetch(2024, 5)
	if wines != nil || !errors.Is(err, ErrNothing) || err.Error() != "bottle 5 of 5: nothing to drink" {
		panic(fmt.Sprint(wines, err))
	}
	expect(len(cellar.niches), 4)
	expect(len(cellar.drunk), 0)
	expect(cellar.niches[3].Wine, "fir")

	wines, _ = cellar.Fetch(2024, 3)
	expect(wines, "[elm ash fir]")
	niche, _ := cellar.Lay(Bottle{"yew", 2025, 2040})
	expect(niche, 2)
	_, err = cellar.Fetch(2024, 2)
	expect(errors.Is(err, ErrNothing), true)
	wines, _ = cellar.Fetch(2025, 2)
	expect(wines, "[oak yew]")
	wines, err = cellar.Fetch(1990, 0)
	expect(len(wines), 0)
	expect(err, nil)
	expect(cellar.drunk, "[elm ash fir oak yew]")
}
