/** Masked tokens are not there, and causal queries that are the last tokens see what they see among all of them. */
import {beforeAll, describe, expect, it} from 'vitest'
import {attention, loadEstimators, METHOD_NAMES, tf} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/names.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostNormals} from '../../src/check/calls/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'

await loadEstimators()

const [HEADS, TOKENS, PADDING, HEAD_DIM] = [2, 23, 5, 6]
type Side = 'query' | 'key' | 'value'
const SIDES: readonly Side[] = ['query', 'key', 'value']

/** Roundings of a row: far above what another order of summation gives, far below what one token more does. */
const DIGITS = 4

/** Tokens of two texts, `[2, H, n, D]`. */
function tokens(side: string, count: number): tf.Tensor4D {
  const {data, shape} = hostNormals(`masked.${side}`, [2, HEADS, count, HEAD_DIM])
  return tf.tensor4d(Float32Array.from(data), [...shape])
}

function rowsOf(out: tf.Tensor4D, first: number, count: number): tf.Tensor4D {
  return tf.slice(out, [0, 0, first, 0], [2, HEADS, count, out.shape[3]])
}

function expectAlike(actual: Float32Array, expected: Float32Array): void {
  const size = Math.hypot(...expected)
  const off = Math.hypot(...actual.map((x, at) => x - expected[at]!))
  expect(off / size).toBeLessThan(10 ** -DIGITS)
}

const FORMS = METHOD_NAMES.flatMap(method => {
  const {supports} = estimatorNamed(method)
  return [false, true]
    .filter(causal => (causal ? supports.causal : supports.bidirectional))
    .map(causal => ({method, causal, supports}))
})

describe.each(await runnableBackends())('on %s', backend => {
  beforeAll(() => useBackend(backend))

  const masked = FORMS.filter(({supports}) => supports.keyMask)
  it.each(casesOn(backend, masked))(
    'masked queries and keys say nothing: $method, causal $causal',
    ({method, causal}) => {
      const options = {method, causal, numFeatures: 8} as const
      const call = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask?: tf.Tensor) =>
        attention(q, k, v, {...options, ...(mask && {keyMask: mask})} as never)
      const alone = compute(() => {
        const [q, k, v] = SIDES.map(side => tokens(side, TOKENS))
        return call(q!, k!, v!)
      })
      for (const size of [0, 1, 9]) {
        for (const left of [false, true]) {
          const padded = compute(() => {
            const [q, k, v] = SIDES.map(side => {
              const junk = tf.mul(tokens(`junk.${side}`, PADDING), size)
              const own = tokens(side, TOKENS)
              return tf.concat(left ? [junk, own] : [own, junk], 2)
            })
            const ones = tf.ones([2, TOKENS])
            const zeros = tf.zeros([2, PADDING])
            const mask = tf.concat(left ? [zeros, ones] : [ones, zeros], 1)
            return rowsOf(call(q!, k!, v!, mask), left ? PADDING : 0, TOKENS)
          })
          expectAlike(padded, alone)
        }
      }
    },
  )

  const crossed = FORMS.filter(({causal, supports}) => causal && supports.cross)
  it.each(casesOn(backend, crossed))('the last queries: $method', ({method}) => {
    const {calibrates} = estimatorNamed(method)
    const last = 7
    const whole = (align?: 'start' | 'end') =>
      compute(() => {
        const [q, k, v] = SIDES.map(side => tokens(side, TOKENS))
        const first = align === 'start' ? 0 : TOKENS - last
        const calibration = calibrates && {calibration: {query: q, key: k}}
        const query = align ? rowsOf(q!, first, last) : q!
        const options = {method, causal: true, numFeatures: 8, ...calibration}
        return attention(query, k!, v!, {...options, ...(align && {causalAlign: align})} as never)
      })
    const rows = (first: number) =>
      compute(() => rowsOf(tf.tensor4d(whole(), [2, HEADS, TOKENS, HEAD_DIM]), first, last))
    // draws belong to places, which are those of the queries that are given
    if (method === 'ra') return
    // lengths are those of the call, which are the same
    expectAlike(whole('end'), rows(TOKENS - last))
    expectAlike(whole('start'), rows(0))
  })

  it('asks which corner is meant', () => {
    const call = () =>
      tf.tidy(() =>
        attention(tokens('query', 3), tokens('key', 9), tokens('value', 9), {
          method: 'elu',
          causal: true,
        }),
      )
    expect(call).toThrow(/causalAlign/)
  })
})
