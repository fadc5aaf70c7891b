import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../../src/attention/attention.js'
import type {Estimator} from '../../../src/attention/forms/estimator.js'
import {callNoise} from '../../../src/attention/forms/noise.js'
import {drawProjection, loadEstimators, METHOD_NAMES} from '../../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../../src/attention/resolve.js'
import type {CalibrationPairs, PresetName} from '../../../src/attention/types.js'
import {useBackend} from '../../../src/backends/index.js'
import {runVarianceCell} from '../../../src/experiments/variance/measure/cell.js'
import type {VarianceResult} from '../../../src/experiments/variance/schema.js'
import {attentionRoundingBound} from '../../../src/theory/rounding.js'
import {compute, hostInputs, toTensors} from '../../helpers/arrays.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

type Values = Record<string, string | number | boolean>

/** A configuration beside the exact one. */
interface Variant {
  estimator: Estimator
  preset: PresetName
  options: Values
}

/** One of these is allowed and not the default, whatever the option. */
const VALUES = [true, false, 0.05, 2, 5, 0.5, 'add:0.5']

function otherValue(estimator: Estimator, name: string) {
  const schema = estimator.options.shape[name]!
  const ordinary = schema.parse(undefined)
  const choices = new Set<string>()
  for (const word of WORDS) if (schema.safeParse(word).success) choices.add(word)
  const found = [...choices, ...VALUES].find(
    value => value !== ordinary && schema.safeParse(value).success,
  )
  if (found === undefined) throw new Error(`${estimator.name}.${name}: no other value known`)
  return found
}

/** Values of all enumerations. */
const WORDS = METHOD_NAMES.flatMap(name =>
  Object.values(estimatorNamed(name).options.shape).flatMap(schema => {
    const {def} = schema as {def: {innerType?: {options?: string[]}}}
    return def.innerType?.options ?? []
  }),
)

const WITH_KERNEL = METHOD_NAMES.map(name => estimatorNamed(name)).filter(({kernel}) => kernel)

/** What lets an option act that by default acts beside another one only. */
const COMPANIONS: Record<string, Values> = {
  featureEpsilon: {stabilizer: 'none'},
  featureScale: {stabilizer: 'none'},
  epsilonPlace: {stabilizer: 'none', featureEpsilon: 0.05},
  projectionScale: {featureEpsilon: 0.05},
  scaledTwice: {stabilizer: 'max'},
}

const VARIANTS: Variant[] = WITH_KERNEL.flatMap(estimator => {
  const names = Object.keys(estimator.options.shape)
  const single = names.map(name => ({[name]: otherValue(estimator, name)}))
  const together = names.flatMap(name => {
    const known = Object.entries(COMPANIONS[name] ?? {}).filter(
      ([option, value]) => estimator.options.shape[option]?.safeParse(value).success,
    )
    return known.length === 0
      ? []
      : [{[name]: otherValue(estimator, name), ...Object.fromEntries(known)}]
  })
  const presets = Object.keys(estimator.presets) as PresetName[]
  return [
    ...presets.map(preset => ({estimator, preset, options: {}})),
    ...[...single, ...together].map(options => ({estimator, preset: 'exact' as const, options})),
  ]
})

const SIZES = {num_features: 8, head_dim: 4}

function cellOf({estimator, preset, options}: Variant) {
  return runVarianceCell({
    ...{method: estimator.name, preset, options, projections: ['iid'], orth_sign: 'haar'},
    ...{...SIZES, norm: 0.3, angle_deg: 80, replicates: 64, seed: 1, backend: 'cpu'},
  })
}

/** What the rows of a cell say. */
async function numbersOf(variant: Variant): Promise<Partial<VarianceResult>> {
  const outcome = await cellOf(variant)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  const {expectation, closed_form_variance, closed_form_kurtosis, per_projection} = outcome.result
  return {expectation, closed_form_variance, closed_form_kurtosis, per_projection}
}

const EXACT = new Map<string, Partial<VarianceResult>>()
async function exactNumbers(estimator: Estimator) {
  const known = EXACT.get(estimator.name)
  if (known) return known
  const numbers = await numbersOf({estimator, preset: 'exact', options: {}})
  EXACT.set(estimator.name, numbers)
  return numbers
}

const label = ({estimator, preset, options}: Variant) =>
  `${estimator.name} ${preset} ${JSON.stringify(options)}`

describe('a preset or an option off its default', () => {
  it.each(VARIANTS.map(variant => [label(variant), variant] as const))(
    '%s: changes the numbers, or the cell is skipped with the reason',
    async (_label, variant) => {
      const outcome = await cellOf(variant)
      if (outcome.status === 'skipped') return expect(outcome.reason).toMatch(/\w+ \w+/)
      const {expectation, closed_form_variance, closed_form_kurtosis, per_projection} =
        outcome.result
      const numbers = {expectation, closed_form_variance, closed_form_kurtosis, per_projection}
      return expect(numbers).not.toEqual(await exactNumbers(variant.estimator))
    },
  )

  it.each([
    ['favor-pos', 'exact', {denGuard: 'add:1'}, 'denGuard: a guard acts on the denominator'],
    [
      'favor-pos',
      'exact',
      {featureEpsilon: 5},
      'featureEpsilon: stabilizer "log" forms no features',
    ],
    ['favor-pos', 'performer-pytorch', {}, 'stabilizer "max" makes featureEpsilon count'],
    ['favor-pos', 'hku', {}, 'a pair by itself has no sequence'],
    ['favor-pos', 'xformers', {}, 'has the features of the exact form'],
    ['favor-hyp', 'exact', {stabilizer: 'norm-max'}, 'its shift cancels in the ratio'],
    ['favor-trig', 'google-jax', {}, 'norms: its shift cancels in the ratio'],
    ['favor-relu', 'google-jax', {}, 'has no random features'],
    ['oprf', 'exact', {prefix: 3}, 'no sequence to take a prefix from'],
    ['oprf', 'tf-models', {}, 'makes featureEpsilon count'],
  ] as const)('%s, %s, %o is skipped: %s', async (name, preset, options, reason) => {
    const outcome = await cellOf({estimator: estimatorNamed(name), preset, options})
    expect(outcome).toMatchObject({status: 'skipped', reason: expect.stringContaining(reason)})
  })

  it('names what acts and what does not where an option of each kind is set', async () => {
    const outcome = await cellOf({
      estimator: estimatorNamed('favor-pos'),
      preset: 'google-slim',
      options: {},
    })
    expect(outcome).toMatchObject({
      status: 'completed',
      result: {kernel: 'M exp(x.y)', without_effect: {denGuard: expect.any(String)}},
    })
  })

  it('rfa follows its temperature: the kernel of unit vectors over tau', async () => {
    const rfa = estimatorNamed('rfa')
    const {expectation} = await numbersOf({
      estimator: rfa,
      preset: 'exact',
      options: {tau: 0.5},
    })
    const squared = 2 - 2 * Math.cos((80 * Math.PI) / 180)
    expect(expectation).toMatchReference(Math.exp(-squared / 2 / 0.25), 12)
  })
})

describe('the features of a kernel estimate', () => {
  const shape = {batch: 1, heads: 1, queryLen: 3, keyLen: 4, headDim: 4, valueDim: 2}
  const host = hostInputs({...shape, numFeatures: 8}, 0.6)
  const measured = VARIANTS.filter(({estimator, preset, options}) => {
    const resolved = resolveOptions(estimator, preset, options)
    const deterministic = resolved.features === 'deterministic'
    return !deterministic && estimator.kernel!.refuses?.(resolved) === undefined
  })

  it.each(measured.map(variant => [label(variant), variant] as const))(
    '%s: weigh values as attention does, but for options without effect',
    (_label, {estimator, preset, options}) => {
      const kernel = estimator.kernel!
      const resolved = resolveOptions(estimator, preset, options) as Record<string, unknown>
      const defaults = estimator.options.parse({}) as Record<string, unknown>
      for (const name of Object.keys(kernel.idle(resolved))) {
        if (name !== 'stabilizer' && name !== 'norms') resolved[name] = defaults[name]
      }
      const numFeatures = 8
      const draw = {name: 'iid', heads: 1, numFeatures, headDim: 4, seed: 3} as const
      const scale = estimator.inputs(resolved) === 'raw' ? 1 : 4 ** -0.25
      const rows = (data: ArrayLike<number>) =>
        Array.from({length: data.length / 4}, (_, row) =>
          Float64Array.from({length: 4}, (_, d) => data[row * 4 + d]! * scale),
        )
      const calibration: CalibrationPairs = {query: rows(host.query.data), key: rows(host.key.data)}
      const [out, weights, values] = compute(() => {
        const [query, key, value] = toTensors(host)
        const projection = tf.tensor3d(Float32Array.from(drawProjection(draw)), [1, numFeatures, 4])
        const call = {...shape, numFeatures, causal: false}
        const noise = callNoise(estimator, call, resolved, {}, {seed: 3, replicate: 0})
        const common = {
          ...(estimator.projection ? {projection} : {numFeatures}),
          ...(estimator.calibrates && {calibration: {query, key}}),
        }
        const found = attend(query, key, value, {
          ...resolved,
          method: estimator.name,
          seed: 3,
          ...common,
        })
        const features = (x: tf.Tensor4D, side: 'query' | 'key') =>
          kernel.features(tf.mul(x, scale), projection, resolved, {side, noise, calibration})
        const products = tf.matMul(features(query, 'query'), features(key, 'key'), false, true)
        return [found.out, products, value]
      }) as [Float32Array, Float32Array, Float32Array]
      for (let query = 0; query < shape.queryLen; query++) {
        const own = weights.subarray(query * shape.keyLen, (query + 1) * shape.keyLen)
        const total = own.reduce((sum, weight) => sum + weight, 0)
        const sizes = own.reduce((sum, weight) => sum + Math.abs(weight), 0)
        const bound = attentionRoundingBound({
          terms: 4 * numFeatures + shape.keyLen,
          argument: 16,
          condition: sizes / Math.abs(total),
          magnitude: 4,
        })
        for (let d = 0; d < shape.valueDim; d++) {
          const expected = own.reduce((sum, w, s) => sum + (w * values[s * 2 + d]!) / total, 0)
          expect(Math.abs(out[query * 2 + d]! - expected)).toBeLessThanOrEqual(bound)
        }
      }
    },
  )
})
