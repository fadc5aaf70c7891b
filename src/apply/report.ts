import {elementCount} from '../inputs/nd-array.js'
import {plural} from '../report/numbers.js'
import {listed} from '../report/words.js'
import {type ApplyRecord, MOST_GROWTH} from './record.js'

/** What was written and where: `wrote out [2, 12, 256, 32] (batch, heads, tokens, Dv) to out.npz`. */
export function writtenNote({
  arrays,
  layout,
  output,
}: Pick<ApplyRecord, 'arrays' | 'layout' | 'output'>): string {
  const axes = layout === 'blhd' ? 'batch, tokens, heads, Dv' : 'batch, heads, tokens, Dv'
  const names = arrays.map(({name}) => name)
  const [shape, ...others] = new Set(arrays.map(({shape}) => `[${shape.join(', ')}] (${axes})`))
  const what = [listed(names), ...(others.length > 0 ? [] : [shape])].join(' ')
  return `wrote ${what} to ${output}`
}

/** What to say of outputs that are mostly rounding; `undefined` where none is. */
export function illConditionedWarning({
  method,
  arrays,
}: Pick<ApplyRecord, 'method' | 'arrays'>): string | undefined {
  const bad = arrays.reduce((sum, {ill_conditioned}) => sum + ill_conditioned, 0)
  if (bad === 0) return undefined
  const total = arrays.reduce((sum, {shape}) => sum + elementCount(shape), 0)
  return `${bad} of ${plural(total, 'output element')} are more than ${MOST_GROWTH} times the largest value: the weights of ${method} nearly cancel there, so float32 loses over half of its digits and another backend gives other numbers; try a smaller \`scale\`, smaller queries and keys, or favor-pos, where nothing cancels`
}

/** The warning about an output that is not finite; `undefined` where all of it is. */
export function notFiniteWarning({
  method,
  arrays,
}: Pick<ApplyRecord, 'method' | 'arrays'>): string | undefined {
  const bad = arrays.reduce((sum, {not_finite}) => sum + not_finite, 0)
  if (bad === 0) return undefined
  const total = arrays.reduce((sum, {shape}) => sum + elementCount(shape), 0)
  const count = `${bad} of ${plural(total, 'output element')} of ${method}`
  const are = total === 1 ? 'is' : 'are'
  return `${count} ${are} not finite: float32 ends at 3.4e38; try a smaller \`scale\`, or smaller queries, keys or values`
}
