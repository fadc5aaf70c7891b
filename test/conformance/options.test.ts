import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, type MethodName} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {type Sizes, SMALL} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {decodeCase} from '../helpers/decode.js'
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
/** Several windows, chunks and segments, the last one of each cut short. */
const ODD: Sizes = {...SMALL, queryLen: 35, keyLen: 35, valueDim: 7, numFeatures: 9}

type Variant = Pick<EstimatorCase, 'method' | 'options'> & {sizes?: Sizes}

/** Options of a method on sequences of odd lengths. */
const odd = (method: MethodName, all: readonly Record<string, unknown>[], sizes = ODD): Variant[] =>
  all.map(options => ({method, options, sizes}))

/** Chunks that divide windows, that windows divide, and neither; longer than all. */
const CUTS = [
  {window: 8, chunkSize: 4},
  {window: 4, chunkSize: 12},
  {window: 6, chunkSize: 5},
  {window: 5, chunkSize: 64},
].flatMap(cuts => [cuts, {...cuts, overlap: true}, {...cuts, overlap: true, localKeys: 'twice'}])
/** Other means and inverses than by default. */
const LANDMARKS = [
  {landmarks: 'padded'},
  {landmarks: 'padded', pinvScale: 'batch'},
  {pinvScale: 'batch'},
  {iterations: 0},
  {iterations: 2},
]

/** Options that act beyond one chunk; on few tokens every option is tried by its own suite. */
const VARIANTS: readonly Variant[] = [
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
  ...odd('eva', CUTS),
  ...odd('eva', [
    {window: 3, chunkSize: null},
    {gridWidth: 7, window: 2, chunkSize: 3},
    {gridWidth: 7, window: 2, chunkSize: null, overlap: true},
    {gridWidth: 5, window: 3, chunkSize: 2, overlap: true, localKeys: 'twice'},
    {gridWidth: 5, window: 1, chunkSize: null, padding: 'zeros', localKeys: 'twice'},
  ]),
  ...odd('nystrom', LANDMARKS),
  ...odd('nystrom', LANDMARKS, {...ODD, keyLen: 17}),
  ...odd('nystrom', LANDMARKS, {...ODD, queryLen: 4}), // fewer queries than landmarks
  ...odd('reformer', [
    {rounds: 2, chunkSize: 1},
    {rounds: 1, lookBack: 'wrap', chunkSize: 16},
    {rounds: 2, lookBack: 'wrap', duplicates: 'every-round', chunkSize: 8},
    {rounds: 2, combine: 'uniform', self: 'too', duplicates: 'every-round', buckets: 4},
  ]),
]

const CASES: EstimatorCase[] = VARIANTS.flatMap(({sizes = LONG, ...variant}): EstimatorCase[] => [
  {...variant, sizes},
  {...variant, sizes, causal: true},
  {...variant, sizes, causal: true, masked: true},
  {...variant, sizes, masked: true},
]).filter(
  // grids have no order in time
  given =>
    unsupportedReason(given) === undefined && !(given.causal && 'gridWidth' in {...given.options}),
)

/** Calls that a decoder can follow: those of few tokens. */
const DECODED = CASES.filter(
  ({method, causal, masked, sizes}) =>
    causal && !masked && sizes === ODD && estimatorNamed(method).supports.decode,
)

function nameOf(given: EstimatorCase): string {
  return `${caseName(given)} ${JSON.stringify(given.options)}`
}

function check(given: EstimatorCase, actual: Float32Array): void {
  const {value, error} = twinOfCase(given).out
  const {decidable} = assertWithin(nameOf(given), actual, value, error)
  // what reformer picks is decided everywhere, or its choice would be one of rounding
  const least = given.method === 'reformer' ? value.length : value.length / 2
  expect(decidable).toBeGreaterThanOrEqual(least)
}

describe.each(backends)('options on long sequences on %s', backend => {
  beforeAll(() => useBackend(backend))

  const named = (cases: readonly EstimatorCase[]) =>
    casesOn(backend, cases, 3).map(given => [nameOf(given), given] as const)
  it.each(named(CASES))('%s: within rounding of its definition', (_, given) => {
    check(given, runCase(given).out)
  })

  it.each(named(DECODED))('%s: token by token, within rounding of it', (_, given) => {
    check(given, decodeCase(given))
  })
})
