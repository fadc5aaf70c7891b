import {describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/estimators/index.js'
import type {Estimator} from '../../../../src/attention/forms/estimator.js'
import {resolveOptions} from '../../../../src/attention/resolve.js'

describe('labels of targets on unit vectors', async () => {
  const estimators = await loadEstimators()
  const sigma = {sigma: {shape: [1, 2], data: Float64Array.of(1, 2)}}
  const label = (name: 'rfa' | 'rfa-arccos', given: object, parameters?: object) => {
    const estimator = estimators[name] as unknown as Estimator
    const options = resolveOptions(estimator, 'exact', given as Record<string, unknown>)
    return estimator.target(options, parameters as never)!.label
  }

  it.each([
    ['rfa', {}, undefined, 'softmax of unit q, k at temperature 1'],
    ['rfa', {normEpsilon: 0.5}, undefined, 'Gaussian kernel of q, k over their length + 0.5 / 1'],
    ['rfa', {}, sigma, 'Gaussian kernel of unit q, k times sigma / 1'],
    ['rfa-arccos', {}, undefined, 'arc-cosine kernel of unit q, k'],
    [
      'rfa-arccos',
      {normEpsilon: 0.5},
      undefined,
      'arc-cosine kernel of q, k over their length + 0.5',
    ],
    [
      'rfa-arccos',
      {normEpsilon: 0.5},
      sigma,
      'arc-cosine kernel of q, k over their length + 0.5 times sigma',
    ],
  ] as const)('%s %j %j', (name, given, parameters, expected) => {
    expect(label(name, given, parameters)).toBe(expected)
  })
})
