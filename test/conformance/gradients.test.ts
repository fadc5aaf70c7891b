/** Gradients with masks and with options that other code computes; those of plain calls are a check of every method. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES, type MethodName} from '../../src/attention/index.js'
import {CAUSAL_CHUNK} from '../../src/attention/kernels/causal-sums.js'
import {estimatorNamed} from '../../src/attention/names.js'
import {useBackend} from '../../src/backends/index.js'
import {compareGradients} from '../../src/check/checks/gradients.js'
import {runnableBackends} from '../helpers/backends.js'
import {FULL, sample} from '../helpers/effort.js'

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

/** A chunk of causal sums, or two, and the beginning of the next. */
const [CHUNK, CHUNKS] = [CAUSAL_CHUNK + 3, 2 * CAUSAL_CHUNK + 3]
/** More than the tiles of fused kernels hold. */
const TILES = 1030

const DIFFERENTIABLE = METHOD_NAMES.filter(name => estimatorNamed(name).stepwise === undefined)

// WebAssembly has the composites of plain JavaScript, in a twentieth of the time
const backends = (await runnableBackends()).filter(name => FULL || name !== 'cpu')

describe.each(backends)('gradients beyond chunks and tiles on %s', backend => {
  beforeAll(() => useBackend(backend))

  // a full run has every method on the backend with kernels of its own; others have one composite, and take turns
  const turn = (at: number) => at % (FULL ? 4 : 8) === backends.indexOf(backend)
  const methods =
    backend === 'native' ? sample(DIFFERENTIABLE, 3, 1) : DIFFERENTIABLE.filter((_, at) => turn(at))
  const chunks = FULL || backend === 'native' ? CHUNKS : CHUNK
  const lengths = FULL && backend === 'native' ? [chunks, TILES] : [chunks]

  it.each(methods.flatMap(method => lengths.map(length => ({method, length}))))(
    '$method, $length tokens',
    async ({method, length}) => {
      const estimator = estimatorNamed(method)
      const subject = {method, estimator, seed: 1, draws: undefined, seconds: 0}
      const tokens = [CAUSAL_CHUNK - 1, length - 1] // the last of the first chunk, the last of all
      const masks = estimator.supports.keyMask && FULL ? [false, true] : [false]
      for (const masked of masks) {
        const found = await compareGradients(subject, {masked, length, tokens})
        expect(found, `masked: ${masked}`).not.toMatchObject({status: 'failed'})
      }
    },
  )
})
