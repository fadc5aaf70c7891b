/** Centres of independent measurements, with their tests: those of turns that cells of a benchmark took. */

import {plural} from '../report/numbers.js'
import {type Estimate, hodgesLehmann, mapped, signedRank} from '../stats/index.js'
import {Unmeasured} from './runs.js'

/** Fewest turns that are tested: signed ranks of fewer can reject nothing after chance is accounted for over a hundred tests. */
const LEAST_TURNS = 12

/** What was measured, and what it says of any bound. */
export interface Measured extends Estimate {
  /** p against "it is `bound` or less". */
  above(bound: number): number
  /** p against "it is `bound` or more". */
  below(bound: number): number
}

/**
 * The centre of values, by signed ranks: a turn in which a machine had other things to do is an outlier, and counts as one
 * turn.
 *
 * @throws {Unmeasured} for fewer than {@link LEAST_TURNS}
 */
export function measuredCenter(values: ArrayLike<number>): Measured {
  if (values.length < LEAST_TURNS) {
    throw new Unmeasured(
      `times were taken in ${plural(values.length, 'turn')}; it takes ${LEAST_TURNS}`,
    )
  }
  const p = (alternative: 'greater' | 'less') => (bound: number) =>
    signedRank(
      Array.from(values, value => value - bound),
      {alternative},
    ).pValue
  return {...hodgesLehmann(values), above: p('greater'), below: p('less')}
}

/** The centre of what the values are logarithms of. @throws as {@link measuredCenter} */
export function measuredRatio(logs: ArrayLike<number>): Measured {
  const {above, below, ...estimate} = measuredCenter(logs)
  return {
    ...mapped(estimate, Math.exp),
    above: bound => above(Math.log(bound)),
    below: bound => below(Math.log(bound)),
  }
}
