/** Heads that look at each other say so: the others may run beside any heads, as replicates of one experiment do. */
import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  attend,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
  type PresetName,
} from '../../src/attention/index.js'
import {noiseSpecs, projectionTensor} from '../../src/attention/internal.js'
import {supportsOf} from '../../src/attention/names.js'
import {estimatorNamed, resolveOptions, usesProjection} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {type Alike, alikeOn, casesOn, runnableBackends} from '../helpers/backends.js'
import {outputBound} from '../helpers/estimator-case.js'

const backends = await runnableBackends()
await loadEstimators()

const SIZES = {batch: 1, heads: 2, queryLen: 19, keyLen: 19, headDim: 6, valueDim: 5}
const NUM_FEATURES = 14
const SETS = 3

interface Variant {
  method: MethodName
  preset: PresetName
  explicit: Record<string, unknown>
  causal: boolean
}

/** Presets, and every value of every option that has names for values. */
function variants(): Variant[] {
  return METHOD_NAMES.flatMap(method => {
    const {presets, options} = estimatorNamed(method)
    const named = Object.entries(options.shape).flatMap(([name, schema]) => {
      const values = (unwrapped(schema) as {options?: unknown}).options
      return Array.isArray(values) ? values.map(value => ({[name]: value})) : []
    })
    const settings = [
      ...(['exact', ...Object.keys(presets)] as PresetName[]).map(preset => ({
        preset,
        explicit: {},
      })),
      ...named.map(explicit => ({preset: 'exact' as const, explicit})),
    ]
    return settings.flatMap(setting => [false, true].map(causal => ({method, ...setting, causal})))
  }).filter(isProjectedAlone)
}

/** The schema behind a default. */
function unwrapped(schema: unknown): unknown {
  const inner = (schema as {def?: {innerType?: unknown}}).def?.innerType
  return inner === undefined ? schema : unwrapped(inner)
}

/** There is such a form, and all that it draws is a projection. */
function isProjectedAlone({method, preset, explicit, causal}: Variant): boolean {
  const estimator = estimatorNamed(method)
  const options = resolveOptions(estimator, preset, explicit)
  const form = causal ? 'causal' : 'bidirectional'
  const shape = {...SIZES, numFeatures: NUM_FEATURES, causal}
  return (
    usesProjection(estimator, options) &&
    supportsOf(estimator, options)[form] &&
    Object.keys(noiseSpecs(estimator, shape, options)).length === 0
  )
}

function random(name: string, dim: number): tf.Tensor4D {
  const {heads, queryLen} = SIZES
  const data = normals(randomStream(8, name), heads * queryLen * dim)
  return tf.tensor4d(Float32Array.from(data), [1, heads, queryLen, dim])
}

/** Outputs of sets of heads that have their own projections: all in one call, and each by itself. */
function outputs({method, preset, explicit, causal}: Variant) {
  const draw = {name: 'orth', ...SIZES, numFeatures: NUM_FEATURES, seed: 4} as const
  const tensors = [random('q', 6), random('k', 6), random('v', 5)] as const
  const many = tensors.map(x => tf.tile(x, [1, SETS, 1, 1])) as [
    tf.Tensor4D,
    tf.Tensor4D,
    tf.Tensor4D,
  ]
  const call = {method, preset, ...explicit, causal}
  const together = attend(...many, {
    ...call,
    projection: projectionTensor({...draw, replicates: SETS}),
  })
  const alone = Array.from({length: SETS}, (_, replicate) =>
    attend(...tensors, {...call, projection: projectionTensor({...draw, replicate})}),
  )
  return {
    together: together.out.dataSync() as Float32Array,
    alone: Float32Array.from(alone.flatMap(({out}) => [...out.dataSync()])),
  }
}

/** What rounding may do to the outputs of all sets. */
function bounds({method, preset, explicit: options, causal}: Variant): Float64Array {
  const array = (x: tf.Tensor4D) => ({shape: x.shape, data: x.dataSync() as Float32Array})
  const [query, key, value] = [array(random('q', 6)), array(random('k', 6)), array(random('v', 5))]
  const sets = Array.from({length: SETS}, (_, replicate) => {
    const rows = projectionTensor({
      ...{name: 'orth', ...SIZES, numFeatures: NUM_FEATURES, seed: 4},
      replicate,
    })
    const projection = {
      data: rows.dataSync() as Float32Array,
      numFeatures: NUM_FEATURES,
      perHead: true,
    }
    const sizes = {...SIZES, numFeatures: NUM_FEATURES}
    const inputs = {query, key, value}
    return [...outputBound({method, preset, options, sizes, causal, inputs, projection})]
  })
  return Float64Array.from(sets.flat())
}

const VARIANTS = variants()

describe.each(backends)('on %s', backend => {
  let expectAlike: Alike
  beforeAll(async () => {
    await useBackend(backend)
    expectAlike = await alikeOn(backend)
  })

  for (const variant of casesOn(backend, VARIANTS)) {
    const {method, preset, explicit, causal} = variant
    const estimator = estimatorNamed(method)
    const coupled = estimator.couplesHeads?.(resolveOptions(estimator, preset, explicit)) ?? false
    const name = [method, preset, JSON.stringify(explicit), causal ? 'causal' : ''].join(' ')
    it(`${name}: heads ${coupled ? 'look at each other' : 'are the same beside any others'}`, () => {
      tf.tidy(() => {
        const {together, alone} = outputs(variant)
        if (coupled) expect(together).not.toEqual(alone)
        else expectAlike(name, together, alone, () => bounds(variant))
      })
    })
  }
})
