import fc from 'fast-check'
import {beforeAll, describe, expect, it} from 'vitest'
import {type HostArray, loadEstimators} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {type HostArrays, type Sizes, SMALL} from '../helpers/arrays.js'
import {type Alike, alikeOn, casesOn, runnableBackends} from '../helpers/backends.js'
import {
  type EstimatorCase,
  hostCase,
  optionsOf,
  outputBound,
  runCase,
} from '../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../helpers/rounding.js'
import {caseOf, formsOf, methodsWhere} from './laws.js'

const backends = await runnableBackends()
await loadEstimators()

/** Both runs within their own bounds of the same exact result: within the sum of each other. */
function expectSame(label: string, a: EstimatorCase, b: EstimatorCase): void {
  const first = runCase(a).out
  const second = runCase(b).out
  const bound = addBounds(outputBound(a), outputBound(b))
  assertWithin(label, second, first, bound)
}

/** Rows of the third axis in another order. */
function reordered({data, shape}: HostArray, order: readonly number[]): HostArray {
  const [, , length, width] = shape
  const out = data.slice()
  for (let at = 0; at < out.length; at += width) {
    const row = (at / width) % length
    const head = Math.floor(at / width / length)
    const from = (head * length + order[row]!) * width
    out.set(data.subarray(from, from + width), at)
  }
  return {shape, data: out}
}

/** The part of noise `[B or 1, H, rows, columns]` that belongs to one batch element or head. */
function partOf(noise: HostArrays, axis: 0 | 1, index: number): HostArrays {
  const part = ({shape, data}: HostArrays[string]) => {
    if (shape[axis] === 1) return {shape, data}
    const size = data.length / (shape[0]! * (axis === 0 ? 1 : shape[1]!))
    return {shape: shape.with(axis, 1), data: data.slice(index * size, (index + 1) * size)}
  }
  return Object.fromEntries(Object.entries(noise).map(([name, array]) => [name, part(array)]))
}

describe('the order of keys', () => {
  beforeAll(() => useBackend('cpu'))

  it.each(
    methodsWhere(({keyOrderMatters, supports}) => !keyOrderMatters && supports.bidirectional),
  )('does not matter to %s when values move along', method => {
    const sizes = SMALL
    const positions = Array.from({length: sizes.keyLen}, (_, j) => j)
    const shuffled = fc.shuffledSubarray(positions, {minLength: sizes.keyLen})
    fc.assert(
      fc.property(shuffled, order => {
        const given = caseOf(method, sizes)
        const {inputs} = hostCase(given)
        const key = reordered(inputs.key, order)
        const value = reordered(inputs.value, order)
        expectSame(method, given, {...given, inputs: {...inputs, key, value}})
      }),
      {numRuns: 5, seed: 11},
    )
  })
})

describe.each(backends)('batches and heads on %s', backend => {
  let expectAlike: Alike
  beforeAll(async () => {
    await useBackend(backend)
    expectAlike = await alikeOn(backend)
  })

  const forms = methodsWhere(() => true).flatMap(method =>
    formsOf(method).map(form => [method, form.form, form.causal] as const),
  )
  const cases = casesOn(backend, forms)

  it.each(cases)('%s %s of a batch is what a loop computes', (method, _form, causal) => {
    const given = caseOf(method, SMALL, {causal})
    const {inputs, noise} = hostCase(given)
    const {batch} = SMALL
    const whole = runCase(given).out
    const part = (array: HostArray, b: number): HostArray => {
      const size = array.data.length / batch
      const [, heads, length, width] = array.shape
      return {shape: [1, heads, length, width], data: array.data.slice(b * size, (b + 1) * size)}
    }
    for (let b = 0; b < batch; b++) {
      const one = {
        ...given,
        inputs: {
          query: part(inputs.query, b),
          key: part(inputs.key, b),
          value: part(inputs.value, b),
        },
        noise: partOf(noise, 0, b),
      }
      const rows = whole.slice((b * whole.length) / batch, ((b + 1) * whole.length) / batch)
      expectAlike(method, runCase(one).out, rows, () =>
        outputBound({...one, sizes: {...SMALL, batch: 1}}),
      )
    }
  })

  it.each(cases)('%s %s of one head is what it is among others', (method, _form, causal) => {
    const sizes: Sizes = {...SMALL, batch: 1}
    const given = caseOf(method, sizes, {causal})
    const {inputs, projection, noise} = hostCase(given)
    const whole = runCase(given).out
    for (let head = 0; head < sizes.heads; head++) {
      const part = ({data, shape}: HostArray): HostArray => {
        const size = data.length / sizes.heads
        return {shape: [1, 1, shape[2], shape[3]], data: data.slice(head * size, (head + 1) * size)}
      }
      const rows = sizes.numFeatures * sizes.headDim
      const one: EstimatorCase = {
        ...given,
        sizes: {...given.sizes, heads: 1},
        inputs: {query: part(inputs.query), key: part(inputs.key), value: part(inputs.value)},
        noise: partOf(noise, 1, head),
        ...(projection && {
          projection: {
            data: Float32Array.from(projection.data).subarray(head * rows, (head + 1) * rows),
            numFeatures: sizes.numFeatures,
            perHead: true,
          },
        }),
      }
      const size = whole.length / sizes.heads
      const alone = whole.slice(head * size, (head + 1) * size)
      expectAlike(method, runCase(one).out, alone, () => outputBound(one))
    }
  })
})

describe('the logit scale', () => {
  beforeAll(() => useBackend('cpu'))

  const cases = methodsWhere(() => true).flatMap(method =>
    formsOf(method).map(form => [method, form.form, form.causal] as const),
  )

  it.each(cases)(
    '%s %s: scale is a factor on queries and keys, or nothing',
    (method, _form, causal) => {
      const scale = 0.23
      const given = caseOf(method, SMALL, {causal, scale})
      const {inputs} = hostCase(given)
      const space = estimatorNamed(method).inputs(optionsOf(given))
      if (space === 'raw') {
        expect(runCase(given).out).toEqual(runCase(caseOf(method, SMALL, {causal})).out)
        return
      }
      // sqrt(scale) q = sqrt(D^-1/2) (c q): the same canonical vectors, rounded elsewhere; where unit vectors
      // of queries are the keys, queries alone bear the scale
      const shared = estimatorNamed(method).target(optionsOf(given))?.inputs === 'shared'
      const ratio = scale * Math.sqrt(SMALL.headDim)
      const factor = shared ? ratio : Math.sqrt(ratio)
      const times = (array: HostArray): HostArray => ({
        ...array,
        data: Float64Array.from(array.data, x => x * factor),
      })
      const scaled = {...inputs, query: times(inputs.query), key: times(inputs.key)}
      expectSame(method, given, caseOf(method, SMALL, {causal, inputs: scaled}))
    },
  )
})

describe('random feature attention', () => {
  beforeAll(() => useBackend('cpu'))

  it('is trigonometric FAVOR on unit vectors at scale 1', () => {
    const given = caseOf('rfa', SMALL)
    const {inputs, projection} = hostCase(given)
    const unit = ({data, shape}: HostArray): HostArray => {
      const width = shape[3]
      const rows = Float64Array.from(data)
      const length = (at: number) =>
        Math.hypot(...rows.subarray(at - (at % width)).subarray(0, width))
      return {shape, data: rows.map((x, at) => x / length(at))}
    }
    expectSame('rfa', given, {
      ...caseOf('favor-trig', SMALL, {scale: 1}),
      inputs: {...inputs, query: unit(inputs.query), key: unit(inputs.key)},
      projection: projection!,
    })
  })
})
