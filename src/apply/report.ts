import {plural} from '../report/numbers.js'
import type {ApplyRecord} from './apply.js'

/** What to say of an output that nobody can use; `undefined` where all of it is finite. */
export function notFiniteWarning({
  not_finite,
  shape,
}: Pick<ApplyRecord, 'not_finite' | 'shape'>): string | undefined {
  if (not_finite === 0) return undefined
  const total = shape.reduce((product, axis) => product * axis, 1)
  const count = `${not_finite} of ${plural(total, 'output element')}`
  const are = total === 1 ? 'is' : 'are'
  return `${count} ${are} not finite: float32 ends at 3.4e38; try a smaller \`scale\`, or smaller queries and keys`
}
