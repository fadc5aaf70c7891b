import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {decoder, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {type HostArrays, hostNormals, namedTensors, type Sizes, SMALL} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {decodeAll} from '../helpers/decode.js'
import {
  type EstimatorCase,
  hostCase,
  runCase,
  toProjection,
  twinOfCase,
} from '../helpers/estimator-case.js'
import {fitting, formsOf, methodsWhere} from '../helpers/methods.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

const METHODS = methodsWhere(
  estimator =>
    'sigma' in
    (estimator.parameters?.({...SMALL, causal: true}, estimator.options.parse({}) as never) ?? {}),
)

/** Between 0.4 and about 3, other for every head and dimension. */
function sigmaOf({heads, headDim}: Sizes): HostArrays {
  const {data} = hostNormals('sigma', [1, 1, heads, headDim])
  return {sigma: {shape: [heads, headDim], data: data.map(x => Math.fround(0.4 + Math.abs(x)))}}
}

function assertTwin(given: EstimatorCase, out: Float32Array): void {
  const twin = twinOfCase(given)
  const {decidable} = assertWithin(given.method, out, twin.out.value, twin.out.error)
  expect(decidable).toBeGreaterThan(twin.out.value.length / 2)
}

describe.each(backends)('a learned deviation of the random vectors on %s', backend => {
  beforeAll(() => useBackend(backend))

  const cases = METHODS.flatMap(method =>
    formsOf(method).flatMap(({causal, form}) =>
      [true, false].map(sharedProjection => [method, form, {causal, sharedProjection}] as const),
    ),
  )
  it.each(cases)('%s %s, %o, is that of the definition', (method, _form, rest) => {
    const sizes = fitting(method, SMALL)
    const given = {method, sizes, parameters: sigmaOf(sizes), ...rest}
    assertTwin(given, runCase(given).out)
    expect(runCase(given).out).not.toEqual(runCase({...given, parameters: {}}).out)
  })

  it.each(cases)('%s %s, %o, of ones changes nothing', (method, _form, rest) => {
    const sizes = fitting(method, SMALL)
    const {sigma} = sigmaOf(sizes)
    const ones = {sigma: {...sigma!, data: sigma!.data.map(() => 1)}}
    const given = {method, sizes, ...rest}
    expect(runCase({...given, parameters: ones}).out).toEqual(runCase(given).out)
  })

  it.each(METHODS)('%s decodes with it and frees what it made of it', method => {
    const sizes = {...SMALL, queryLen: SMALL.keyLen}
    const given = {method, sizes, causal: true, parameters: sigmaOf(sizes)}
    const {inputs, projection} = hostCase(given)
    const {batch, heads, headDim, valueDim} = sizes
    const before = tf.memory().numTensors
    const rows = toProjection(projection!, sizes.headDim)
    const parameters = namedTensors(given.parameters)
    const step = decoder({
      method,
      ...{batch, heads, headDim, valueDim},
      projection: rows,
      parameters,
    })
    assertTwin(given, decodeAll(step, inputs).out)
    step.dispose()
    rows.dispose()
    parameters.sigma!.dispose()
    expect(tf.memory().numTensors).toBe(before)
  })
})
