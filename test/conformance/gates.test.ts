import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {attention, decoder, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {
  compute,
  type HostArrays,
  hostInputs,
  hostNormals,
  namedTensors,
  type Sizes,
  SMALL,
  toTensors,
} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {decodeAll} from '../helpers/decode.js'
import {
  CASE_SEED,
  type EstimatorCase,
  hostCase,
  runCase,
  toProjection,
  twinOfCase,
} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

/** More than a chunk. */
const SIZES: Sizes = {...SMALL, queryLen: 71, keyLen: 71}
const {heads, headDim} = SIZES

/** Gates that mostly keep, some of them hardly anything. */
function givenGates({batch, heads, keyLen}: Sizes): HostArrays[string] {
  const {data} = hostNormals('gates', [1, batch, heads, keyLen])
  const gates = data.map(x => Math.fround(1 / (1 + Math.exp(-2 * x - 1))))
  return {shape: [batch, heads, keyLen], data: gates}
}

const gateWeight = {shape: [heads, headDim], data: hostNormals('w', [1, 1, heads, headDim]).data}
const sigma = {
  shape: [heads, headDim],
  data: hostNormals('sigma', [1, 1, heads, headDim]).data.map(x => Math.fround(0.5 + x * x)),
}

const SOURCES: readonly (readonly [string, Partial<EstimatorCase>])[] = [
  ['given', {gate: givenGates(SIZES)}],
  ['constant', {options: {constantGate: 0.7}}],
  ['of drawn weights', {options: {gating: 'sigmoid'}}],
  ['of learned weights', {options: {gating: 'sigmoid', gateBias: 1}, parameters: {gateWeight}}],
  ['given, with a learned deviation', {gate: givenGates(SIZES), parameters: {sigma}}],
]
const GUARDS = ['none', 'clamp:0.01', 'add:0.001']

function caseWith(source: Partial<EstimatorCase>, denGuard = 'none', masked = false) {
  const options = {...source.options, denGuard}
  const given = {method: 'rfa-gate', sizes: SIZES, causal: true, masked, ...source, options}
  return given as EstimatorCase
}

function assertTwin(given: EstimatorCase, out: Float32Array): void {
  const {value, error} = twinOfCase(given).out
  const {decidable, report} = assertWithin('rfa-gate', out, value, error)
  expect(decidable, report).toBeGreaterThan(value.length / 2)
}

describe.each(backends)('forget gates on %s', backend => {
  beforeAll(() => useBackend(backend))

  const cases = SOURCES.flatMap(([title, source]) =>
    GUARDS.flatMap(guard =>
      [false, true].map(masked => [title, guard, masked ? 'masked' : 'whole', source] as const),
    ),
  )
  // each source, and each guard with and without a mask
  it.each(casesOn(backend, cases, 5))(
    '%s, guard %s, %s, give what the definition says',
    (_t, guard, form, source) => {
      const given = caseWith(source, guard, form === 'masked')
      const {out, denominator} = runCase(given)
      assertTwin(given, out)
      const sums = twinOfCase(given).denominator!
      assertWithin('denominator', denominator!, sums.value, sums.error)
    },
  )

  const decoded = SOURCES.flatMap(([title, source]) =>
    GUARDS.map(guard => [title, guard, source] as const),
  )
  it.each(casesOn(backend, decoded, 2))(
    '%s, guard %s, decode as they attend',
    (_title, guard, source) => {
      const given = caseWith(source, guard)
      const {inputs, projection} = hostCase(given)
      const {batch, valueDim} = SIZES
      const before = tf.memory().numTensors
      const rows = toProjection(projection!, headDim)
      const parameters = namedTensors(given.parameters ?? {})
      const step = decoder({
        method: 'rfa-gate',
        ...{batch, heads, headDim, valueDim},
        projection: rows,
        seed: CASE_SEED,
        parameters,
        ...given.options,
      })
      assertTwin(given, decodeAll(step, inputs, [], given.gate).out)
      step.dispose()
      rows.dispose()
      tf.dispose(parameters)
      expect(tf.memory().numTensors).toBe(before)
    },
  )

  it('that forget everything leave the own value; those that keep everything stay finite', () => {
    const {batch, keyLen} = SIZES
    const shape = [batch, heads, keyLen]
    const gatesOf = (g: number) => ({shape, data: new Float32Array(batch * heads * keyLen).fill(g)})
    const {value} = hostInputs(SIZES)
    const forgetful = runCase(caseWith({gate: gatesOf(0)})).out
    // what is left of the token before is 2^-126 of it: the quotient rounds
    forgetful.forEach((x, at) => {
      expect(Math.abs(x - value.data[at]!)).toBeLessThanOrEqual(
        2 ** -20 * Math.abs(value.data[at]!),
      )
    })
    expect(runCase(caseWith({gate: gatesOf(1)})).out.every(Number.isFinite)).toBe(true)
  })

  it('of logits in the thousands stay finite, attending and decoding', () => {
    const options = {gating: 'sigmoid'} as const
    const given = caseWith({options, inputs: hostInputs(SIZES, 3e3)})
    expect(runCase(given).out.every(Number.isFinite)).toBe(true)
    const {batch, valueDim} = SIZES
    const step = decoder({method: 'rfa-gate', batch, heads, headDim, valueDim, ...options})
    expect(decodeAll(step, given.inputs!).out.every(Number.isFinite)).toBe(true)
    step.dispose()
  })
})

describe('forget gates', () => {
  beforeAll(() => useBackend('cpu'))

  it('pass gradients on to their weights', () => {
    const sizes = {...SIZES, queryLen: 7, keyLen: 7}
    const [gradient] = compute(() => {
      const inputs = toTensors(hostInputs(sizes))
      const scalar = (weight: tf.Tensor) => {
        const options = {method: 'rfa-gate', causal: true, gating: 'sigmoid', numFeatures: 64}
        const {out} = attend(...inputs, {...options, parameters: {gateWeight: weight}})
        return tf.sum(out) as tf.Scalar
      }
      return [tf.grad(scalar)(namedTensors({gateWeight}).gateWeight!)]
    })
    expect(gradient!.every(x => Number.isFinite(x) && x !== 0)).toBe(true)
  })

  it('take weights only where gates are made of them', () => {
    tf.tidy(() => {
      const inputs = toTensors(hostInputs({...SIZES, queryLen: SIZES.keyLen}))
      const parameters = namedTensors({gateWeight})
      const call = () => attention(...inputs, {method: 'rfa-gate', causal: true, parameters})
      expect(call).toThrow(
        /rfa-gate.parameters: expected one of the arrays sigma, got "gateWeight"/,
      )
    })
  })

  it('exist in the causal form alone', () => {
    tf.tidy(() => {
      const inputs = toTensors(hostInputs(SIZES))
      expect(() => attention(...inputs, {method: 'rfa-gate'})).toThrow(
        'rfa-gate: has no bidirectional form, only a causal one',
      )
    })
  })
})
