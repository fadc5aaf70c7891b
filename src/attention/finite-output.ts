/** Outputs that float32 cannot hold. */
import {expected, type RfaError} from '../errors.js'
import {tf} from '../tf.js'
import type {AttendInputs} from './forms/estimator.js'
import {hostData} from './host-data.js'

type Inputs = Pick<
  AttendInputs<Record<string, unknown>>,
  'query' | 'key' | 'value' | 'queryMask' | 'inputScale'
>

/**
 * Refuses an output that is not finite where everything that it was made of is. NaN and infinities of the caller come out as
 * they may, and rows of masked queries mean nothing.
 *
 * @param others - what the output was made of besides, in any container
 * @throws {NOT_FINITE}
 */
export function requireFinite(
  method: string,
  out: tf.Tensor4D,
  inputs: Inputs,
  others: tf.TensorContainer,
): void {
  // a sum shows whether to read all of it
  const [sum] = hostData(() => ({sum: tf.sum(out)})).sum
  if (Number.isFinite(sum) && sum !== 0) return
  const {broken, zero} = countedEntries(out, inputs)
  if (broken === 0 && !zero) return
  const largest = {
    query: largestOf(inputs.query),
    key: largestOf(inputs.key),
    value: largestOf(inputs.value),
  }
  const given = tf.tensor_util.getTensorsInContainer(others)
  if (![...Object.values(largest), ...given.map(largestOf)].every(Number.isFinite)) return
  if (broken > 0)
    throw tooLarge(method, `${broken} of ${out.size} output elements are not finite`, largest)
  const entry = Math.max(largest.query, largest.key) * inputs.inputScale
  if (entry < LARGE_TOKEN || largest.value === 0) return
  throw tooLarge(method, 'every output element is zero', largest)
}

/** The square of an entry is then a logit like that of a masked key, which no weight remains of. */
const LARGE_TOKEN = 1e15
/** Sums of some thousand values have too little room beyond it. */
const LARGE_VALUE = 1e30

/** Entries that are not finite, in rows that mean something; whether all entries are zero. */
function countedEntries(
  out: tf.Tensor4D,
  {queryMask}: Pick<Inputs, 'queryMask'>,
): {broken: number; zero: boolean} {
  const [, heads, queryLen, valueDim] = out.shape
  const data = hostData(() => ({out, ...(queryMask && {present: tf.cast(queryMask, 'float32')})}))
  const textSize = heads * queryLen * valueDim
  const isPresent = (at: number) => {
    const [text, row] = [Math.floor(at / textSize), Math.floor(at / valueDim) % queryLen]
    return data.present?.[text * queryLen + row] !== 0
  }
  let [broken, zero] = [0, true]
  data.out.forEach((x, at) => {
    if (!Number.isFinite(x) && isPresent(at)) broken++
    if (x !== 0) zero = false
  })
  return {broken, zero}
}

/** The largest magnitude; not finite where an entry is not. */
function largestOf(tensor: tf.Tensor): number {
  const {data} = hostData(() => ({data: tensor}))
  let largest = 0
  for (const x of data) {
    if (!Number.isFinite(x)) return x
    largest = Math.max(largest, Math.abs(x))
  }
  return largest
}

function tooLarge(
  method: string,
  found: string,
  {query, key, value}: Record<'query' | 'key' | 'value', number>,
): RfaError {
  const sizes = [
    `queries up to ${size(query)}`,
    `keys up to ${size(key)}`,
    `values up to ${size(value)}`,
  ].join(', ')
  const what = 'inputs with squares, products and sums that float32 can hold'
  const remedies =
    value > LARGE_VALUE
      ? ['divide the values by a power of two, and multiply the output by it']
      : ['make queries and keys smaller', 'try a smaller scale']
  return expected('NOT_FINITE', method, what, `${sizes}: ${found}`, ...remedies)
}

function size(x: number): string {
  return String(Number(x.toPrecision(2)))
}
