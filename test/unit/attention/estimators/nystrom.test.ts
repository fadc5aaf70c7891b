import {beforeAll, describe, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {hostInputs, type Sizes} from '../../../helpers/arrays.js'
import {type EstimatorCase, runCase, twinOfCase} from '../../../helpers/estimator-case.js'
import {assertWithin} from '../../../helpers/rounding.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SIZES: Sizes = {
  batch: 2,
  heads: 3,
  queryLen: 23,
  keyLen: 23,
  headDim: 5,
  valueDim: 7,
  numFeatures: 6,
}

function check(given: EstimatorCase): void {
  const {value, error} = twinOfCase(given).out
  assertWithin(JSON.stringify(given.options), runCase(given).out, value, error)
}

describe('landmarks and a pseudo-inverse', () => {
  it.each([
    {landmarks: 'padded'},
    {landmarks: 'padded', pinvScale: 'batch'},
    {pinvScale: 'batch'},
    {iterations: 0},
    {iterations: 2},
  ])('with %o are what they are defined as', options => {
    const given: EstimatorCase = {method: 'nystrom', options, sizes: SIZES}
    check(given)
    check({...given, masked: true})
    check({...given, sizes: {...SIZES, keyLen: 17}})
    check({...given, sizes: {...SIZES, queryLen: 4, numFeatures: 9}, masked: true})
  })

  it('are exact when every token is a landmark and the inverse has converged', () => {
    const sizes = {...SIZES, numFeatures: 23}
    const {key, value} = hostInputs(sizes, 4)
    const inputs = {query: key, key, value}
    // the smallest singular value decides how many steps it takes: these are far more
    const options = {iterations: 60}
    const approximate = twinOfCase({method: 'nystrom', sizes, inputs, options}).out.value
    const exact = twinOfCase({method: 'softmax', sizes, inputs}).out.value
    const bound = exact.map(x => 1e-9 * (1 + Math.abs(x)))
    assertWithin('nystrom', approximate, exact, bound)
  })
})
