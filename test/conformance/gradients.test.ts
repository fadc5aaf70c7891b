/** Gradients with masks and with options that other code computes; those of plain calls are a check of every method. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, type MethodName} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/names.js'
import {useBackend} from '../../src/backends/index.js'
import {compareGradients} from '../../src/check/gradients.js'
import {sample} from '../helpers/effort.js'

await loadEstimators()

interface Variant {
  method: MethodName
  masked?: boolean
  options?: Record<string, unknown>
}

const VARIANTS: readonly Variant[] = [
  {method: 'rfa', masked: true},
  {method: 'softmax-online', masked: true},
  {method: 'favor-pos', masked: true},
  {method: 'favor-hyp', masked: true},
  {method: 'oprf', options: {a: -0.5}},
  {method: 'saderf', masked: true},
  {method: 'efficient', masked: true},
  {method: 'cosformer', masked: true},
  {method: 'lara'},
  {method: 'lara', options: {mis: 'bh'}, masked: true},
  {method: 'lara', options: {mis: 'biased'}},
  {method: 'ra', masked: true},
  {method: 'eva', options: {window: 2, chunkSize: 3}},
  {method: 'eva', options: {window: 3, chunkSize: 2}, masked: true},
]

describe('gradients are the slopes of the outputs', () => {
  beforeAll(() => useBackend('cpu'))

  it.each(sample(VARIANTS, 4, 1))('%o', async ({method, ...rest}) => {
    const estimator = estimatorNamed(method)
    const subject = {method, estimator, seed: 1, draws: undefined, seconds: 0}
    expect(await compareGradients(subject, rest)).toMatchObject({status: 'passed'})
  })
})
