import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {type Sizes, SMALL} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {
  caseName,
  type EstimatorCase,
  runCase,
  twinOfCase,
  unsupportedReason,
} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

/** More than two chunks of the causal forms, more queries than keys. */
const LONG: Sizes = {...SMALL, batch: 1, heads: 1, queryLen: 139, keyLen: 131}

/** Options that act beyond one chunk; on few tokens every option is tried by its own suite. */
const VARIANTS: readonly Pick<EstimatorCase, 'method' | 'options'>[] = [
  {method: 'efficient', options: {causalNormalizer: 'joint'}},
  {method: 'efficient', options: {bucket: 3}},
  {method: 'efficient', options: {bucket: 64, causalNormalizer: 'joint'}},
  {method: 'efficient', options: {bucket: 5, causalNormalizer: 'joint', causalDenGuard: 'add:0.1'}},
  {method: 'maclaurin', options: {maxDegree: 3, causalDenGuard: 'add:0.01'}},
  {method: 'hrf', options: {signFeatures: 2, lambdaOn: 'trigonometric', denGuard: 'add:0.01'}},
  {method: 'cosformer', options: {maxLength: 200, featureEpsilon: 0.3}},
  {method: 'efficient', options: {queryScale: 'rsqrt-head-dim', bucket: 500}},
  {method: 'lara', options: {mis: 'bh'}},
  {method: 'lara', options: {mis: 'biased', sampling: 'multisample'}},
  {method: 'lara', options: {sampling: 'antithetic', alphaCoefficient: 2}},
  {method: 'lara', options: {sampling: 'multisample', balance: 'samples', tAxis: 'proposal'}},
  {method: 'lara', options: {tAxis: 'proposal', alphaFloor: 1e-3, noiseScale: 'official'}},
  {method: 'lara', options: {sampling: 'mean', maskedMeans: 'zeroed'}},
  {method: 'lara', options: {proposals: 'grid', gridHeight: 1, sampling: 'multisample'}},
  {method: 'lara', options: {proposals: 'grid', gridHeight: 1, mis: 'bh', mixing: 'values'}},
  {method: 'lara', options: {mixing: 'keys', sampling: 'mean'}},
  {method: 'lara', options: {proposals: 'zero', mis: 'bh', sampling: 'antithetic'}},
  {method: 'lara', options: {proposals: 'zero'}},
  {method: 'ra', options: {samples: 3}},
  {method: 'ra', options: {samples: 2, sampled: false}},
  {method: 'ra', options: {proposal: 'mean-key', samples: 2}},
  {method: 'ra', options: {proposal: 'softmax-mean', noiseScale: 'official'}},
  {method: 'ra', options: {proposal: 'softmax-mean', sampled: false}},
]

const CASES: EstimatorCase[] = VARIANTS.flatMap(variant => [
  {...variant, sizes: LONG},
  {...variant, sizes: LONG, causal: true},
  {...variant, sizes: LONG, causal: true, masked: true},
  {...variant, sizes: LONG, masked: true},
]).filter(given => unsupportedReason(given) === undefined)

function nameOf(given: EstimatorCase): string {
  return `${caseName(given)} ${JSON.stringify(given.options)}`
}

describe.each(backends)('options on long sequences on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(casesOn(backend, CASES).map(given => [nameOf(given), given] as const))(
    '%s: within rounding of its definition',
    (name, given) => {
      const {value, error} = twinOfCase(given).out
      const {decidable} = assertWithin(name, runCase(given).out, value, error)
      expect(2 * decidable).toBeGreaterThanOrEqual(value.length)
    },
  )
})
