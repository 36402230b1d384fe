package main

import (
	"errors"
	"fmt"
)

// Step is a part of the shutdown of a pumping station. Undo is nil where nothing can be taken back.
type Step struct {
	Name string
	Do   func() error
	Undo func()
}

// Station writes down what it has done.
type Station struct {
	log []string
}

func (s *Station) note(format string, values ...any) {
	s.log = append(s.log, fmt.Sprintf(format, values...))
}

// Shutdown runs the steps in their order. If one fails or panics, the steps that were done before it are taken back, the
// last one first, and the error names the step: "valve: stuck". A panic counts as a failure with its value as text.
// What is taken back is noted as "undo NAME".
func (s *Station) Shutdown(steps []Step) (err error) {
	done := 0
	defer func() {
⟦		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s: %v", steps[done].Name, cause)
		}
		if err != nil {
			for i := done - 1; i >= 0; i-- {
				if undo := steps[i].Undo; undo != nil {
					undo()
					s.note("undo %s", steps[i].Name)
				}
			}
		}
	}()
⟧	for ; done < len(steps); done++ {
		if failure := steps[done].Do(); failure != nil {
			return fmt.Errorf("%s: %w", steps[done].Name, failure)
		}
		s.note("did %s", steps[done].Name)
	}
	return nil
}
⟦tests⟧

var stuck = errors.New("stuck")

func step(name string, failure error, undone *string) Step {
	made := Step{Name: name, Do: func() error { return failure }}
	if undone != nil {
		made.Undo = func() { *undone += name }
	}
	return made
}

func main() {
	undone := ""
	steps := []Step{step("a", nil, &undone), step("b", nil, nil), step("c", nil, &undone)}
	station := &Station{}
	if err := station.Shutdown(steps); err != nil || undone != "" || len(station.log) != 3 {
		panic(fmt.Sprint(err, undone, station.log))
	}
	station = &Station{}
	err := station.Shutdown(append(steps, step("valve", stuck, &undone)))
	if err == nil || err.Error() != "valve: stuck" || !errors.Is(err, stuck) || undone != "ca" {
		panic(fmt.Sprint(err, undone))
	}
	if fmt.Sprint(station.log) != "[did a did b did c undo c undo a]" {
		panic(fmt.Sprint(station.log))
	}
	undone = ""
	crash := Step{Name: "pump", Do: func() error { panic(fmt.Sprint("dry ", len(steps))) }}
	err = (&Station{}).Shutdown([]Step{steps[2], crash, steps[0]})
	if err == nil || err.Error() != "pump: dry 3" || undone != "c" {
		panic(fmt.Sprint(err, undone))
	}
	if err := (&Station{}).Shutdown(nil); err != nil {
		panic(err)
	}
}
