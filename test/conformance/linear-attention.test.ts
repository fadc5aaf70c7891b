import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {type LinearAttentionOptions, linearAttention} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {randomStream} from '../../src/random/index.js'
import {compute, hostNormals, maskTensor, scatteredMask, toTensor} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {assertWithin, ELEMENTARY, gamma, TINY, U} from '../helpers/rounding.js'

const backends = await runnableBackends()

interface Case {
  title: string
  queryLen: number
  keyLen: number
  causal: boolean
  masked?: boolean
  /** Range of the logarithms of key weights. */
  weightRange?: number
  gated?: boolean
  continued?: boolean
}

const BATCH = 2
const HEADS = 3
const F = 5
const DV = 7
const CHUNK = 64

const CASES: readonly Case[] = [
  {title: 'bidirectional', queryLen: 13, keyLen: 11, causal: false},
  {
    ...{title: 'bidirectional, masked, weighted', queryLen: 13, keyLen: 131, causal: false},
    ...{masked: true, weightRange: 70},
  },
  {title: 'causal, one chunk', queryLen: 63, keyLen: 63, causal: true},
  {title: 'causal, chunk border', queryLen: 65, keyLen: 64, causal: true},
  {title: 'causal, more queries than keys', queryLen: 193, keyLen: 67, causal: true},
  {title: 'causal, more keys than queries', queryLen: 67, keyLen: 193, causal: true},
  {title: 'causal, masked', queryLen: 131, keyLen: 129, causal: true, masked: true},
  {
    title: 'causal, chunks spanning 140 nats',
    queryLen: 129,
    keyLen: 131,
    causal: true,
    weightRange: 70,
  },
  {
    ...{title: 'causal, masked, weighted', queryLen: 131, keyLen: 127, causal: true, masked: true},
    weightRange: 9,
  },
  {title: 'causal, gated', queryLen: 131, keyLen: 131, causal: true, gated: true},
  {
    title: 'causal, gated, more queries than keys',
    queryLen: 197,
    keyLen: 131,
    causal: true,
    gated: true,
  },
  {
    ...{title: 'causal, gated, weighted', queryLen: 131, keyLen: 129, causal: true, gated: true},
    weightRange: 40,
  },
  {title: 'causal, continued', queryLen: 129, keyLen: 131, causal: true, continued: true},
  {
    ...{title: 'causal, continued, gated', queryLen: 131, keyLen: 127, causal: true},
    ...{continued: true, gated: true},
  },
]

/** Everything a case feeds in. Features are positive, so that ratios are well conditioned. */
function inputsOf({queryLen, keyLen, masked, weightRange, gated, continued}: Case) {
  const positive = (name: string, shape: readonly [number, number, number, number]) => {
    const {data} = hostNormals(name, shape)
    return {shape, data: data.map(x => Math.fround(Math.abs(x) + 0.1))}
  }
  const stream = randomStream(3, 'linear-attention')
  const perKey = (draw: () => number) => Float32Array.from({length: BATCH * HEADS * keyLen}, draw)
  return {
    query: positive('query', [BATCH, HEADS, queryLen, F]),
    key: positive('key', [BATCH, HEADS, keyLen, F]),
    value: hostNormals('value', [BATCH, HEADS, keyLen, DV]),
    mask: masked ? scatteredMask({batch: BATCH, keyLen}) : undefined,
    logWeight:
      weightRange === undefined
        ? undefined
        : perKey(() => weightRange * (2 * stream.uniform() - 1)),
    logGate: gated ? perKey(() => Math.log(0.5 + 0.5 * stream.uniform())) : undefined,
    state: continued ? positive('state', [BATCH, HEADS, F, DV]) : undefined,
    normalizer: continued ? positive('normalizer', [BATCH, HEADS, F, 1]) : undefined,
  }
}
type Inputs = ReturnType<typeof inputsOf>

/** Numerators `[B H L, Dv]` and denominators by the definition, and the sums of their magnitudes. */
function naive(inputs: Inputs, {queryLen, keyLen, causal}: Case) {
  const rows = BATCH * HEADS * queryLen
  const numerator = new Float64Array(rows * DV)
  const magnitude = new Float64Array(rows * DV)
  const denominator = new Float64Array(rows)
  const gates = cumulativeGates(inputs, keyLen)
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / queryLen)
    const i = row % queryLen
    const q = Float64Array.from(inputs.query.data.subarray(row * F, (row + 1) * F))
    const forgotten = (j: number) =>
      gates[head]![Math.min(i, keyLen - 1)]! - (j < 0 ? 0 : gates[head]![j]!)
    const add = (weight: number, value: (d: number) => number, size = weight) => {
      denominator[row]! += weight
      for (let d = 0; d < DV; d++) {
        numerator[row * DV + d]! += size * value(d)
        magnitude[row * DV + d]! += size * Math.abs(value(d))
      }
    }
    const seen: {j: number; log: number}[] = []
    for (let j = 0; j < keyLen; j++) {
      if ((causal && j > i) || inputs.mask?.[Math.floor(head / HEADS) * keyLen + j] === 0) continue
      seen.push({j, log: (inputs.logWeight?.[head * keyLen + j] ?? 0) + forgotten(j)})
    }
    const top = inputs.logWeight ? Math.max(...seen.map(({log}) => log)) : 0
    for (const {j, log} of seen) {
      const k = inputs.key.data.subarray((head * keyLen + j) * F, (head * keyLen + j + 1) * F)
      const score = q.reduce((sum, x, s) => sum + x * k[s]!, 0)
      add(Math.exp(log - top) * score, d => inputs.value.data[(head * keyLen + j) * DV + d]!)
    }
    for (let s = 0; inputs.state && s < F; s++) {
      const weight = Math.exp(forgotten(-1)) * q[s]!
      denominator[row]! += weight * inputs.normalizer!.data[head * F + s]!
      for (let d = 0; d < DV; d++) {
        const term = weight * inputs.state.data[(head * F + s) * DV + d]!
        numerator[row * DV + d]! += term
        magnitude[row * DV + d]! += Math.abs(term)
      }
    }
  }
  return {numerator, magnitude, denominator}
}

/** Running sums of log-gates, per head. */
function cumulativeGates({logGate}: Inputs, keyLen: number): Float64Array[] {
  return Array.from({length: BATCH * HEADS}, (_, head) => {
    let sum = 0
    return Float64Array.from({length: keyLen}, (_, j) => {
      sum += logGate?.[head * keyLen + j] ?? 0
      return sum
    })
  })
}

/**
 * Relative error of one weight: F + S products and sums; exponents of weights and gates are sums of
 * up to a chunk of terms no larger than their range, twice, and are rescaled once per chunk.
 */
function relativeBound({queryLen, keyLen, weightRange = 0, gated}: Case, inputs: Inputs): number {
  const chunks = Math.ceil(queryLen / CHUNK)
  const forgotten = gated
    ? Math.max(...cumulativeGates(inputs, keyLen).map(sums => -sums.at(-1)!))
    : 0
  const exponents = (4 * weightRange + 2 * CHUNK * forgotten) * U
  return gamma(F + keyLen + 8 + chunks * (ELEMENTARY + 3)) + exponents * (1 + chunks)
}

function run(inputs: Inputs, {queryLen, keyLen, causal, weightRange}: Case) {
  const perKey = (values: Float32Array) => tf.tensor3d(values, [BATCH, HEADS, keyLen])
  return compute(() => {
    const options: LinearAttentionOptions = {
      causal,
      keyMask: inputs.mask && maskTensor(inputs.mask, BATCH),
      keyLogWeight: inputs.logWeight && perKey(inputs.logWeight),
      logGate: inputs.logGate && perKey(inputs.logGate),
      initialState: inputs.state && {
        state: toTensor(inputs.state),
        normalizer: tf.squeeze(toTensor(inputs.normalizer!), [3]),
      },
    }
    const {query, key, value} = inputs
    const sums = linearAttention(toTensor(query), toTensor(key), toTensor(value), options)
    const column = tf.reshape(sums.denominator, [BATCH, HEADS, queryLen, 1])
    const ratio = tf.divNoNan(sums.numerator, column)
    // weighted sums share an unknown factor per query: only the ratio means something
    return weightRange === undefined
      ? [sums.numerator, sums.denominator, ratio]
      : [ratio, sums.denominator, ratio]
  }) as [Float32Array, Float32Array, Float32Array]
}

describe.each(backends)('linearAttention on %s against its definition', backend => {
  beforeAll(() => useBackend(backend))

  it.each(
    casesOn(backend, CASES).map(
      given => [given.title, given.queryLen, given.keyLen, given] as const,
    ),
  )('%s, L%i-S%i', (title, _queryLen, _keyLen, given) => {
    const inputs = inputsOf(given)
    const expected = naive(inputs, given)
    const relative = relativeBound(given, inputs)
    const [numerator, denominator, ratio] = run(inputs, given)
    if (given.weightRange === undefined) {
      const sums = expected.magnitude.map(size => relative * size + TINY)
      assertWithin(`${title}: numerator`, numerator, expected.numerator, sums)
      const total = expected.denominator.map(sum => relative * sum)
      assertWithin(`${title}: denominator`, denominator, expected.denominator, total)
    }
    const quotient = expected.numerator.map((sum, at) => {
      const whole = expected.denominator[Math.floor(at / DV)]!
      return whole === 0 ? 0 : sum / whole
    })
    const bound = expected.magnitude.map((size, at) => {
      const whole = expected.denominator[Math.floor(at / DV)]!
      return whole === 0 ? 0 : (2.5 * relative * size) / whole + TINY
    })
    assertWithin(`${title}: ratio`, ratio, quotient, bound)
  })

  it('rows before a huge last key are bit-identical to rows without it', () => {
    const given: Case = {title: 'suffix', queryLen: 131, keyLen: 131, causal: true, weightRange: 5}
    const plain = inputsOf(given)
    const changed = inputsOf(given)
    for (let head = 0; head < BATCH * HEADS; head++) changed.logWeight![head * 131 + 130] = 1e4
    const before = run(plain, given)[2]
    const after = run(changed, given)[2]
    const rows = (values: Float32Array) => values.filter((_, at) => Math.floor(at / DV) % 131 < 130)
    expect(rows(after)).toEqual(rows(before))
    expect(after.every(Number.isFinite)).toBe(true)
  })
})
