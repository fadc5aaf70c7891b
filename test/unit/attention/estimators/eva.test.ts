import {beforeAll, describe, expect, it} from 'vitest'
import {
  attention,
  decoder,
  type HostArray,
  loadEstimators,
} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, type Sizes, toTensors} from '../../../helpers/arrays.js'
import {decodeAll} from '../../../helpers/decode.js'
import {
  CASE_SEED,
  type EstimatorCase,
  hostCase,
  outputBound,
  runCase,
  twinOfCase,
} from '../../../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../../../helpers/rounding.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SIZES: Sizes = {
  batch: 2,
  heads: 3,
  queryLen: 35,
  keyLen: 35,
  headDim: 5,
  valueDim: 7,
  numFeatures: 9,
}

/** Chunks that divide windows, that windows divide, and neither; longer than all. */
const CUTS = [
  {window: 8, chunkSize: 4},
  {window: 4, chunkSize: 12},
  {window: 6, chunkSize: 5},
  {window: 5, chunkSize: 64},
]

const VARIANTS: readonly Record<string, unknown>[] = [
  ...CUTS,
  ...CUTS.map(cuts => ({...cuts, overlap: true})),
  ...CUTS.map(cuts => ({...cuts, overlap: true, localKeys: 'twice'})),
  {window: 3, chunkSize: null},
]

const GRIDS: readonly Record<string, unknown>[] = [
  {gridWidth: 7, window: 2, chunkSize: 3},
  {gridWidth: 7, window: 2, chunkSize: null, overlap: true},
  {gridWidth: 5, window: 3, chunkSize: 2, overlap: true, localKeys: 'twice'},
  {gridWidth: 5, window: 1, chunkSize: null, padding: 'zeros', localKeys: 'twice'},
]

/** Tokens that drift, seen with noise as queries and keys and plain as values. */
function slowlyChanging(sizes: Sizes): Pick<EstimatorCase, 'sizes' | 'inputs'> {
  const {query, key, value} = hostInputs(sizes)
  const {headDim, keyLen} = sizes
  for (let at = 0; at < value.data.length; at++) {
    if (Math.floor(at / headDim) % keyLen === 0) continue
    value.data[at] = 0.9 * value.data[at - headDim]! + Math.sqrt(1 - 0.9 ** 2) * value.data[at]!
  }
  const seen = ({shape, data}: HostArray) => ({
    shape,
    data: data.map((x, at) => value.data[at]! + 0.3 * x),
  })
  return {sizes, inputs: {query: seen(query), key: seen(key), value}}
}

function variant(options: Record<string, unknown>, rest: Partial<EstimatorCase>): EstimatorCase {
  return {method: 'eva', sizes: SIZES, options, ...rest}
}

function check(given: EstimatorCase): void {
  const {value, error} = twinOfCase(given).out
  assertWithin(JSON.stringify(given.options), runCase(given).out, value, error)
}

describe('windows and control variates', () => {
  it.each([...VARIANTS, ...GRIDS])('with %o are what they are defined as', options => {
    check(variant(options, {}))
    check(variant(options, {masked: true}))
  })

  it.each(VARIANTS)('with %o are what they are defined as, causal', options => {
    check(variant(options, {causal: true}))
    check(variant(options, {causal: true, masked: true}))
  })

  it('are nearer to softmax when chunks count their keys, and keys of windows count once', () => {
    const slow = slowlyChanging({...SIZES, queryLen: 128, keyLen: 128, headDim: 16, valueDim: 16})
    const exact = runCase({...slow, method: 'softmax'}).out
    const error = (options: object) =>
      runCase({...slow, method: 'eva', options: {window: 8, chunkSize: 8, ...options}}).out.reduce(
        (sum, x, at) => sum + (x - exact[at]!) ** 2,
        0,
      )
    expect(error({})).toBeLessThan(error({localKeys: 'twice'}))
    expect(error({})).toBeLessThan(error({count: 'none'}))
  })

  it('on a grid have no causal form, and need whole rows', () => {
    const run = (options: object) => () =>
      compute(() => {
        const {inputs} = hostCase(variant({}, {}))
        return attention(...toTensors(inputs), {method: 'eva', ...options})
      })
    expect(run({gridWidth: 7, causal: true})).toThrow(/gridWidth.*not causal/)
    expect(run({gridWidth: 6})).toThrow(/whole rows of 6 tokens/)
  })
})

describe('the recurrent form', () => {
  it.each(VARIANTS)('with %o gives what the causal form gives', options => {
    const given = variant(options, {causal: true})
    const {inputs} = hostCase(given)
    const {batch, heads, headDim, valueDim, numFeatures} = SIZES
    const step = decoder({
      ...(options as {window: number}),
      ...{method: 'eva', batch, heads, headDim, valueDim, numFeatures, seed: CASE_SEED},
    })
    const {out} = decodeAll(step, inputs)
    step.dispose()
    const expected = runCase(given).out
    const bound = outputBound(given)
    assertWithin('decoder', out, expected, addBounds(bound, bound))
  })
})
