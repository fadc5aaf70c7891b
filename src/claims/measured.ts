/** Times that processes of a benchmark measured, with their tests. */
import {intervalOf, type LogTime, pAbove, pBelow} from '../experiments/bench/times/paired-times.js'
import {type Estimate, mapped} from '../stats/index.js'
import {Unmeasured} from './runs.js'

/** What was measured, and what it says of any bound. */
export interface Measured extends Estimate {
  /** p against "it is `bound` or less". */
  above(bound: number): number
  /** p against "it is `bound` or more". */
  below(bound: number): number
}

/** A sum of logarithms of times with its tests, by Student's t. @throws {Unmeasured} for one process */
export function measuredSum(time: LogTime): Measured {
  if (Number.isNaN(time.error)) {
    throw new Unmeasured('times were taken in one process; it takes several')
  }
  return {
    ...intervalOf(time),
    above: bound => pAbove(time, bound),
    below: bound => pBelow(time, bound),
  }
}

/** What it is the logarithm of. @throws as {@link measuredSum} */
export function measuredRatio(time: LogTime): Measured {
  const {above, below, ...estimate} = measuredSum(time)
  return {
    ...mapped(estimate, Math.exp),
    above: bound => above(Math.log(bound)),
    below: bound => below(Math.log(bound)),
  }
}
