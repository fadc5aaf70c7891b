import {plural} from '../report/numbers.js'
import {LEAST_FOR_FLIPS} from '../stats/index.js'

/** Says how many pairs are needed, if these are too few for any small p-value. @param noun - of a pair */
export function fewPairsNote(pairs: number, noun: string): string[] {
  if (pairs >= LEAST_FOR_FLIPS) return []
  const few = pairs === 1 ? `1 ${noun} is` : `${plural(pairs, noun)} are`
  return [`${few} too few to compare pairs; use --replicates ${LEAST_FOR_FLIPS} or more`]
}
