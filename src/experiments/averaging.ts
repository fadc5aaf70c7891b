/** The yardstick of every method: averaging V, which ignores queries and keys. */
import {errorText} from '../report/numbers.js'

/** Its name: compared with others, and never marked. */
export const YARDSTICK = 'mean-value'

/** What it does, in words. */
export const IGNORES = 'which ignores q and k'

/** Errors up to which a method is close to exact attention. */
export const CLOSE = 0.05

/** Float32 rounding of a mean: a few units in the last place. */
const ROUNDING = 4 * 2 ** -23

/**
 * Where averaging V is close, too, hardly anything is left for attention to do: said first, and nothing is ranked.
 *
 * @param average - rel L2 of averaging V, at most `CLOSE`
 */
export function nothingToTell(average: number): string {
  const isExact = average <= ROUNDING
  const why = isExact
    ? `exact here${average === 0 ? ', as V hardly varies' : ' up to float32 rounding'}`
    : `within 5 %, too: ${errorText(average)} off`
  return `This input cannot tell methods apart: averaging V, ${IGNORES}, is ${why}.`
}
