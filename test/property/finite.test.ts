/** Inputs of any size that float32 holds give finite outputs, or an error that says what is too large. */
import {beforeAll, describe, expect, it} from 'vitest'
import {attention, loadEstimators, METHOD_NAMES, tf} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/names.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostNormals} from '../../src/check/calls/arrays.js'
import {RfaError} from '../../src/errors.js'
import {registerGradients} from '../../src/tf.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'

await loadEstimators()

const [HEADS, TOKENS, DIM] = [2, 11, 6]
const SIDES = ['query', 'key', 'value'] as const
type Sizes = Partial<Record<(typeof SIDES)[number], number>>

/** Normals of at most 3, times a size. */
function tokens(side: string, size = 1): tf.Tensor4D {
  const {data, shape} = hostNormals(`finite.${side}`, [1, HEADS, TOKENS, DIM])
  const entries = Float32Array.from(data, x => Math.max(-3, Math.min(3, x)) * size)
  return tf.tensor4d(entries, [...shape])
}

function outputOf(method: string, causal: boolean, sizes: Sizes): Float32Array {
  return compute(() => {
    const [q, k, v] = SIDES.map(side => tokens(side, sizes[side]))
    return attention(q!, k!, v!, {method, causal, numFeatures: 8} as never)
  })
}

const SMALL = [1e-45, 1e-37, 1e-30, 1e-20]
const LARGE = [1e18, 1e30, 1e38]
const PLACES: readonly Sizes[] = [...SMALL, ...LARGE].flatMap(size => [
  {query: size},
  {key: size},
  {value: size},
  {query: size, key: size},
])

const FORMS = METHOD_NAMES.flatMap(method => {
  const {supports} = estimatorNamed(method)
  return [false, true]
    .filter(causal => (causal ? supports.causal : supports.bidirectional))
    .map(causal => ({method, causal}))
})

/** Methods whose weights do not cancel. */
const POSITIVE = FORMS.filter(({method}) => estimatorNamed(method).nonNegative)

/** Finite, or refused for a size that is large. */
function expectSound(method: string, causal: boolean, sizes: Sizes): void {
  const label = `${method}, causal ${causal}, ${JSON.stringify(sizes)}`
  try {
    expect(outputOf(method, causal, sizes).every(Number.isFinite), label).toBe(true)
  } catch (error) {
    if (!(error instanceof RfaError)) throw error
    expect(error.code, label).toBe('NOT_FINITE')
    expect(Math.max(...Object.values(sizes)), label).toBeGreaterThanOrEqual(LARGE[0]!)
  }
}

/** Whether an output is another one times a factor, within `digits` of its largest entry. */
function expectMultiple(out: Float32Array, of: Float32Array, factor: number, digits: number): void {
  const largest = of.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  const off = of.reduce((most, x, at) => Math.max(most, Math.abs(out[at]! / factor - x)), 0)
  expect(off / largest).toBeLessThan(10 ** -digits)
}

/** Ten thousand roundings: what one order of sums differs by from another, where weights do not cancel. */
const DIGITS = 3

describe.each(await runnableBackends())('on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(casesOn(backend, FORMS, 2))('$method, causal $causal', ({method, causal}) => {
    for (const sizes of PLACES) expectSound(method, causal, sizes)
  })

  it.each(casesOn(backend, POSITIVE, 2))(
    'values of 1e30 are averaged as others are: $method, causal $causal',
    ({method, causal}) => {
      const factor = 2 ** 99
      const plain = outputOf(method, causal, {query: 3, key: 3})
      const large = outputOf(method, causal, {query: 3, key: 3, value: factor})
      expectMultiple(large, plain, factor, DIGITS)
    },
  )

  it.each(FORMS.filter(({method}) => ['rfa', 'rfa-arccos', 'rfa-gate'].includes(method)))(
    'unit vectors have the direction of vectors of any length: $method, causal $causal',
    ({method, causal}) => {
      // without a gate, which goes by keys as they are
      const options = {
        method,
        causal,
        numFeatures: 64,
        ...(method === 'rfa-gate' && {gating: 'constant'}),
      }
      const at = (size: number) =>
        compute(() => {
          const [q, k, v] = [tokens('query', size), tokens('key', size), tokens('value')]
          return attention(q, k, v, options as never)
        })
      const plain = at(1)
      for (const size of [2 ** -120, 2 ** -70, 2 ** 70, 2 ** 120]) {
        expectMultiple(at(size), plain, 1, DIGITS)
      }
    },
  )

  it.each(['rfa', 'rfa-arccos'])('slopes of unit vectors go by their length: %s', async method => {
    await registerGradients()
    const slopes = (size: number) =>
      compute(() => {
        const loss = (query: tf.Tensor) => {
          const options = {method, numFeatures: 64} as never
          const out = attention(query, tokens('key'), tokens('value'), options)
          return tf.sum(tf.mul(out, tokens('slopes'))) as tf.Scalar
        }
        return tf.grad(loss)(tokens('query', size))
      })
    const plain = slopes(1)
    for (const size of [2 ** -90, 2 ** 90]) expectMultiple(slopes(size), plain, 1 / size, DIGITS)
  })
})

describe('an output that float32 cannot hold', () => {
  beforeAll(() => useBackend('cpu'))

  it('is refused with the sizes of what it was made of', () => {
    expect(() => outputOf('squared-relu', false, {query: 1e30, key: 1e30})).toThrow(
      /squared-relu: .* queries up to 2\.8e\+30, keys up to 2\.8e\+30, values up to 3: \d+ of 132 output elements are not finite/,
    )
  })

  it('is given where the inputs are not finite themselves', () => {
    const out = compute(() =>
      attention(tokens('query', Number.NaN), tokens('key'), tokens('value'), {method: 'elu'}),
    )
    expect(out.every(Number.isNaN)).toBe(true)
  })

  it('is given in rows of masked queries, which mean nothing', () => {
    const out = compute(() => {
      const row = tf.cast(tf.oneHot(tf.tensor1d([4], 'int32'), TOKENS), 'float32')
      const factors = tf.reshape(tf.add(tf.mul(row, 1e38), 1), [1, 1, TOKENS, 1])
      const query = tf.mul(tokens('query'), factors)
      return attention(query, tokens('key', 1e10), tokens('value'), {
        method: 'elu',
        queryMask: tf.sub(1, row),
      })
    })
    expect(out.some(x => !Number.isFinite(x))).toBe(true)
  })

  it('does not disturb gradients', async () => {
    await registerGradients()
    const slopes = tf.tidy(() => {
      const loss = (query: tf.Tensor) =>
        tf.sum(attention(query, tokens('key'), tokens('value'), {method: 'elu'})) as tf.Scalar
      return tf.grad(loss)(tokens('query')).dataSync()
    })
    expect(slopes.every(Number.isFinite)).toBe(true)
  })
})
