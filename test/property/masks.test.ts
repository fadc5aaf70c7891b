import fc from 'fast-check'
import {beforeAll, describe, expect, it} from 'vitest'
import {type HostArray, loadEstimators} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {hostInputs, hostNormals, type Sizes, SMALL, sliceRows} from '../helpers/arrays.js'
import {sample} from '../helpers/effort.js'
import {type EstimatorCase, hostCase, outputBound, runCase} from '../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../helpers/rounding.js'
import {caseOf, formsOf, methodsWhere} from './laws.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const masking = methodsWhere(({supports}) => supports.keyMask)
const cases = masking.flatMap(method =>
  formsOf(method).map(form => [method, form.form, form.causal] as const),
)

/** `extra` large random rows after the given ones. */
function padded(array: HostArray, extra: number, name: string): HostArray {
  const [batch, heads, length, width] = array.shape
  const filler = hostNormals(name, [batch, heads, length + extra, width], 9)
  const rows = length * width
  for (let head = 0; head < batch * heads; head++) {
    const own = array.data.subarray(head * rows, (head + 1) * rows)
    filler.data.set(own, head * (length + extra) * width)
  }
  return filler
}

/** The first `count` rows of each head of an output. */
function firstRows(
  values: Float32Array | Float64Array,
  {queryLen, valueDim}: Sizes,
  count: number,
): Float64Array {
  return Float64Array.from(values).filter((_, at) => Math.floor(at / valueDim) % queryLen < count)
}

/** How many keys are padded. */
const PADDING = [1, 5, 67]

describe('masked keys', () => {
  it.each(cases.map((given, index) => [...given, sample(PADDING, 3, index)] as const))(
    '%s %s: a padded batch gives what the trimmed one gives',
    (method, _form, causal, numbersOfKeys) => {
      const {supports, lengthFreeOptions: options = {}} = estimatorNamed(method)
      const trimmed = caseOf(method, SMALL, {causal, options})
      const {inputs} = hostCase(trimmed)
      for (const extra of numbersOfKeys) {
        const keyLen = SMALL.keyLen + extra
        const queryLen = supports.cross ? SMALL.queryLen : keyLen
        const given: EstimatorCase = {
          ...trimmed,
          sizes: {...trimmed.sizes, queryLen, keyLen},
          inputs: {
            query: supports.cross ? inputs.query : padded(inputs.query, extra, 'padding.query'),
            key: padded(inputs.key, extra, 'padding.key'),
            value: padded(inputs.value, extra, 'padding.value'),
          },
          keyMask: Float32Array.from({length: SMALL.batch * keyLen}, (_, i) =>
            i % keyLen < SMALL.keyLen ? 1 : 0,
          ),
        }
        const expected = runCase(trimmed).out
        const {out} = runCase(given)
        const own = trimmed.sizes.queryLen
        const bound = addBounds(
          outputBound(trimmed),
          firstRows(outputBound(given), given.sizes, own),
        )
        const rows = firstRows(out, given.sizes, own)
        assertWithin(`${method}, ${extra} padded keys`, rows, expected, bound)
      }
    },
  )

  it.each(cases)('%s %s: a mask of ones changes nothing', (method, _form, causal) => {
    const given = caseOf(method, SMALL, {causal})
    const keyMask = new Float32Array(SMALL.batch * SMALL.keyLen).fill(1)
    expect(runCase({...given, keyMask}).out).toEqual(runCase(given).out)
  })

  it.each(cases)('%s %s: rows without any key are zero', (method, _form, causal) => {
    const keyMask = Float32Array.from({length: SMALL.batch * SMALL.keyLen}, (_, i) =>
      i < SMALL.keyLen ? 0 : 1,
    )
    const {out} = runCase(caseOf(method, SMALL, {causal, keyMask}))
    expect(out.subarray(0, out.length / SMALL.batch).every(x => x === 0)).toBe(true)
    expect(out.every(Number.isFinite)).toBe(true)
  })
})

describe('exact attention', () => {
  it('is the same materialised and tiled, for any sizes and masks', () => {
    const size = fc.integer({min: 1, max: 40})
    fc.assert(
      fc.property(
        fc.record({queryLen: size, keyLen: size, headDim: size, valueDim: size}),
        fc.boolean(),
        fc.boolean(),
        (axes, causal, masked) => {
          const sizes: Sizes = {...SMALL, ...axes}
          const given: EstimatorCase = {method: 'softmax', sizes, causal, masked}
          const {out} = runCase(given)
          const bound = outputBound(given)
          const tiled = runCase({...given, method: 'softmax-online'}).out
          assertWithin('softmax-online', tiled, out, addBounds(bound, bound))
        },
      ),
      {numRuns: 25, seed: 17},
    )
  })

  it('sees a prefix of the keys when causal: row i is that of a call with keys 0..i', () => {
    const given = caseOf('softmax', SMALL, {causal: true})
    const inputs = hostInputs(SMALL)
    const {out} = runCase({...given, inputs})
    const rows = {shape: [2, 3, SMALL.queryLen, SMALL.valueDim] as const, data: out}
    for (const row of [0, 4, SMALL.keyLen - 1]) {
      const cut: EstimatorCase = {
        method: 'softmax',
        sizes: {...SMALL, queryLen: 1, keyLen: row + 1},
        inputs: {
          query: sliceRows(inputs.query, row, row + 1),
          key: sliceRows(inputs.key, 0, row + 1),
          value: sliceRows(inputs.value, 0, row + 1),
        },
      }
      const expected = sliceRows(rows, row, row + 1).data
      const single = runCase(cut).out
      const bound = outputBound(cut)
      assertWithin(`row ${row}`, single, expected, addBounds(bound, bound))
    }
  })
})
