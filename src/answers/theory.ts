/** For numbers that theory gives: distances in standard errors, |z|, with one bound for all rows of a question (Bonferroni). */
import {bonferroniZ} from '../stats/index.js'
import {ALPHA, type Reply} from './answer.js'

/** What is asked of rows: that they are what they should be, stay below it, or that some are below and none above. */
type Asked = 'equal' | 'at_most' | 'below'

/** Largest |z| that chance explains. @param rows - those of the question */
export function boundOn(rows: number): number {
  return rows > 0 ? bonferroniZ(rows, ALPHA) : Number.POSITIVE_INFINITY
}

/** By the distances of rows from what is asked. @param bound - of all rows of the question */
export function byDistance(asked: Asked, zs: readonly number[], bound: number): Reply {
  if (zs.length === 0) return 'cannot_be_told'
  const [below, above] = [zs.some(z => z < -bound), zs.some(z => z > bound)]
  if (above) return 'no'
  if (asked === 'equal') return below ? 'no' : 'yes'
  return asked === 'at_most' || below ? 'yes' : 'cannot_be_told'
}
