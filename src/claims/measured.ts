/** Means of independent measurements, with their tests: those of turns that cells of a benchmark took. */
import {type Estimate, mapped, studentTest} from '../stats/index.js'
import {Unmeasured} from './runs.js'

/** Fewest turns whose mean is tested: a t test of fewer cannot reject after chance is accounted for over many tests. */
const LEAST_TURNS = 8

/** What was measured, and what it says of any bound. */
export interface Measured extends Estimate {
  /** p against "it is `bound` or less". */
  above(bound: number): number
  /** p against "it is `bound` or more". */
  below(bound: number): number
}

/** The mean of values. @throws {Unmeasured} for fewer than {@link LEAST_TURNS} */
export function measuredMean(values: ArrayLike<number>): Measured {
  if (values.length < LEAST_TURNS) {
    throw new Unmeasured(`times were taken in ${values.length} turns; it takes ${LEAST_TURNS}`)
  }
  const p = (alternative: 'greater' | 'less') => (mean: number) =>
    studentTest(values, {mean, alternative}).pValue
  return {...studentTest(values).estimate, above: p('greater'), below: p('less')}
}

/** The geometric mean of what the values are logarithms of. @throws as {@link measuredMean} */
export function measuredRatio(logs: ArrayLike<number>): Measured {
  const {above, below, ...estimate} = measuredMean(logs)
  return {
    ...mapped(estimate, Math.exp),
    above: bound => above(Math.log(bound)),
    below: bound => below(Math.log(bound)),
  }
}
