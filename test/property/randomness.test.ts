import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {
  attention,
  drawProjection,
  loadEstimators,
  PROJECTION_NAMES,
} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {compute, hostInputs, SMALL, toTensors} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {decodeAll, decoderFor} from '../helpers/decode.js'
import {CASE_SEED, outputBound, runCase} from '../helpers/estimator-case.js'
import {randomMethods} from '../helpers/methods.js'
import {addBounds, assertWithin, U} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

const random = randomMethods()
const inputs = hostInputs({...SMALL, queryLen: SMALL.keyLen})

describe('projections', () => {
  const shape = {heads: 3, numFeatures: 13, headDim: 5}

  it.each(PROJECTION_NAMES)(
    '%s: same request, same bytes; other seed or replicate, other bytes',
    name => {
      const draw = drawProjection({name, ...shape, seed: 4})
      expect(drawProjection({name, ...shape, seed: 4})).toEqual(draw)
      expect(drawProjection({name, ...shape, seed: 5})).not.toEqual(draw)
      expect(drawProjection({name, ...shape, seed: 4, replicate: 1})).not.toEqual(draw)
    },
  )

  it.each(PROJECTION_NAMES)(
    '%s: heads differ, and a head does not depend on how many there are',
    name => {
      const all = drawProjection({name, ...shape, seed: 4})
      const size = 13 * 5
      const first = all.subarray(0, size)
      expect(all.subarray(size, 2 * size)).not.toEqual(first)
      expect(drawProjection({name, ...shape, heads: 1, seed: 4})).toEqual(first)
    },
  )

  it.each(PROJECTION_NAMES)('%s: seeds beyond 32 bits are distinguished', name => {
    const low = drawProjection({name, ...shape, seed: 7})
    expect(drawProjection({name, ...shape, seed: 7 + 2 ** 32})).not.toEqual(low)
  })
})

const decoding = random.filter(name => estimatorNamed(name).supports.decode)

describe.each(backends)('draws of estimators on %s', backend => {
  beforeAll(() => useBackend(backend))

  it('queries and keys share one projection: a unit vector has kernel one with itself', () => {
    const [first] = compute(() => {
      const [query, , value] = toTensors(inputs)
      const options = {method: 'rfa', numFeatures: 7, causal: true}
      return [attend(query, query, value, options).denominator!]
    })
    // the first row sees its own key alone: sum of sin^2 + cos^2 over M, each factor three roundings
    const bound = (2 * 7 + 6) * U
    for (let head = 0; head < SMALL.batch * SMALL.heads; head++) {
      const own = first![head * SMALL.keyLen]!
      expect(Math.abs(own - 1), `got ${own}, bound ${bound}`).toBeLessThanOrEqual(bound)
    }
  })

  it.each(casesOn(backend, decoding))(
    '%s: attention and decoder of one seed share one draw',
    method => {
      const sizes = {...SMALL, queryLen: SMALL.keyLen}
      const {batch, heads, headDim, valueDim, numFeatures} = sizes
      const given = {method, sizes, causal: true, inputs}
      const drawn = {method, numFeatures, seed: CASE_SEED}
      const out = compute(() => attention(...toTensors(inputs), {...drawn, causal: true}))
      expect(out).toEqual(runCase(given).out)
      const step = decoderFor({...drawn, batch, heads, headDim, valueDim}, inputs)
      const tokens = decodeAll(step, inputs).out
      step.dispose()
      const bound = outputBound(given)
      assertWithin(method, tokens, out, addBounds(bound, bound))
    },
  )
})
