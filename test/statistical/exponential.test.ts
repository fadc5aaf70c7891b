import {beforeAll, describe, expect, it} from 'vitest'
import {attention, exactAttention, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, type Sizes, toTensors} from '../helpers/arrays.js'
import {EFFORT, moments, Z} from '../helpers/statistics.js'
import {factsOf, optionsOf} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SIZES: Sizes = {
  batch: 1,
  heads: 1,
  queryLen: 48,
  keyLen: 64,
  headDim: 64,
  valueDim: 8,
  numFeatures: 256,
}

/** Queries and keys whose dimensions have standard deviations s and 1/s, from 1/4 to 4: their products stay as they are. */
function anisotropic() {
  const inputs = hostInputs(SIZES, 0.5)
  const {headDim} = SIZES
  const scale = (at: number) => 4 ** ((2 * (at % headDim)) / (headDim - 1) - 1)
  inputs.query.data = inputs.query.data.map((x, at) => x * scale(at))
  inputs.key.data = inputs.key.data.map((x, at) => x / scale(at))
  return inputs
}

type Method = 'favor-pos' | 'oprf' | 'saderf' | 'aderf'

/** Log of the mean squared error against exact attention, over independent draws: errors are heavy-tailed, their logs not. */
function logErrors(method: Method, inputs: ReturnType<typeof hostInputs>) {
  const {query, key, value} = inputs
  const target = factsOf(method).target(optionsOf(method))!
  const logitScale = SIZES.headDim ** -0.5
  const exact = exactAttention(query, key, value, {target, logitScale, causal: false})
  const {numFeatures} = SIZES
  const errors = Float64Array.from({length: 12 * EFFORT}, (_, replicate) => {
    const out = compute(() => attention(...toTensors(inputs), {method, numFeatures, replicate}))
    return Math.log(out.reduce((sum, x, at) => sum + (x - exact[at]!) ** 2, 0) / out.length)
  })
  return moments(errors)
}

describe('attention with queries and keys of other scales per dimension', () => {
  it('errs at least four times less with per-dimension factors, and with matrices', () => {
    const inputs = anisotropic()
    const plain = (['favor-pos', 'oprf'] as const).map(method => logErrors(method, inputs))
    for (const method of ['saderf', 'aderf'] as const) {
      const found = logErrors(method, inputs)
      for (const {mean, standardError} of plain) {
        const spread = Math.hypot(standardError, found.standardError)
        expect(mean - found.mean - Z * spread).toBeGreaterThan(Math.log(4))
      }
    }
  })
})
