import {beforeAll, describe, expect, it} from 'vitest'
import {attention, type HostArray, loadEstimators} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {compute, hostInputs, type Sizes, SMALL, toTensors} from '../../../helpers/arrays.js'
import {type EstimatorCase, runCase} from '../../../helpers/estimator-case.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SIZES: Sizes = {...SMALL, queryLen: 35, keyLen: 35, numFeatures: 9}

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

describe('windows and control variates', () => {
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
      compute(() => attention(...toTensors(hostInputs(SIZES)), {method: 'eva', ...options}))
    expect(run({gridWidth: 7, causal: true})).toThrow(/gridWidth.*not causal/)
    expect(run({gridWidth: 6})).toThrow(/whole rows of 6 tokens/)
  })
})
