import {afterEach, beforeEach, describe, expect, it} from 'vitest'
import {
  exactOutput,
  hasExactLoop,
  hasLoopForm,
  isCanonicalSoftmax,
} from '../../../src/attention/exact.js'
import {type ExactTarget, exactAttention} from '../../../src/attention/index.js'
import {
  type ArcCosineRowsCall,
  bringHostLoops,
  type SoftmaxRowsCall,
} from '../../../src/host-loops.js'
import {hostInputs, SMALL} from '../../helpers/arrays.js'

const SOFTMAX: ExactTarget = {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: ''}
const {query, key, value} = hostInputs(SMALL)
const options = (target: Partial<ExactTarget>, entropies = false) => ({
  target: {...SOFTMAX, ...target},
  logitScale: 0.4,
  causal: true,
  entropies,
})

beforeEach(() => bringHostLoops({}))
afterEach(() => bringHostLoops({}))

/** A loop that writes down its calls and fills what is asked for with their numbers. */
function noted(): SoftmaxRowsCall[] {
  const calls: SoftmaxRowsCall[] = []
  bringHostLoops({
    softmaxRows(call) {
      // vectors of one head may be written over by those of the next
      calls.push({...call, query: call.query.slice(), key: call.key.slice()})
      call.out?.fill(calls.length)
      call.entropy?.fill(-calls.length)
    },
  })
  return calls
}

/** Within the rounding of doubles: either side scales, squares and sums `headDim` entries, takes a root, and divides. */
function expectNear(actual: number, wanted: number): void {
  const bound = 2 * (SMALL.headDim + 6) * 2 ** -53 * Math.abs(wanted)
  expect(Math.abs(actual - wanted)).toBeLessThanOrEqual(bound)
}

describe('exactOutput', () => {
  it('is the reference where no backend brings a loop', () => {
    const {output, entropies} = exactOutput(query, key, value, options({}, true))
    expect(output).toEqual(exactAttention(query, key, value, options({})))
    expect(entropies).toBeUndefined()
  })

  it.each(['arc-cosine', 'smreg'] as const)('is the reference for %s', kernel => {
    const calls = noted()
    const {output} = exactOutput(query, key, value, options({kernel}))
    expect(output).toEqual(exactAttention(query, key, value, options({kernel})))
    expect(calls).toEqual([])
  })

  it('gives unit vectors and lengths of keys to the loop of the arc-cosine kernel', () => {
    const calls: ArcCosineRowsCall[] = []
    bringHostLoops({
      arcCosineRows(call) {
        calls.push({...call, query: call.query.slice()})
        call.out.fill(1)
      },
    })
    const still = {...query, data: query.data.slice()}
    still.data.fill(0, 0, SMALL.headDim)
    const asked = options({kernel: 'arc-cosine'}, true)
    const {output, entropies} = exactOutput(still, key, value, asked)
    expect(entropies).toBeUndefined()
    const call = calls[5]!
    expect(calls.length).toBe(6)
    expectNear(Math.hypot(...call.query.subarray(0, SMALL.headDim)), 1)
    const first = key.data.subarray(5 * SMALL.keyLen * SMALL.headDim).subarray(0, SMALL.headDim)
    expectNear(call.keyLength[0]!, Math.hypot(...first) * Math.sqrt(0.4))
    // a query of zeros weighs nothing
    expect([...output.subarray(0, SMALL.valueDim + 1)]).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
    expect(hasExactLoop({...SOFTMAX, kernel: 'arc-cosine'})).toBe(true)
    expect(hasExactLoop(SOFTMAX)).toBe(false)
  })

  it('is the reference for values in double precision', () => {
    const calls = noted()
    const wide = {...value, data: Float64Array.from(value.data)}
    const {output} = exactOutput(query, key, wide, options({}))
    expect(output).toEqual(exactAttention(query, key, wide, options({})))
    expect(calls).toEqual([])
  })

  it('asks the loop for one head after the other', () => {
    const calls = noted()
    const {output, entropies} = exactOutput(query, key, value, options({}, true))
    const {batch, heads, queryLen, keyLen, headDim, valueDim} = SMALL
    expect(calls.length).toBe(batch * heads)
    const call = calls[4]!
    expect(call).toMatchObject({headDim, valueDim, causal: true, excludesSelf: false})
    expect(call.logConstant).toBeUndefined()
    expect(call.value).toEqual(value.data.subarray(4 * keyLen * valueDim, 5 * keyLen * valueDim))
    // vectors as they are, with the factor that makes them canonical
    expect(call.query[0]).toBe(query.data[4 * queryLen * headDim])
    expect(call.key.at(-1)).toBe(key.data[5 * keyLen * headDim - 1])
    expect(call.scale).toBe(Math.sqrt(0.4))
    expect([output[0], output.at(-1)]).toEqual([1, 6])
    expect([entropies![0], entropies!.at(-1)]).toEqual([-1, -6])
    expect(entropies!.length).toBe(batch * heads * queryLen)
  })

  it('gives biases of keys and what a constant is beside row weights', () => {
    const calls = noted()
    exactOutput(query, key, value, options({kernel: 'gaussian', constant: 3, excludesSelf: true}))
    const {query: x, key: y, scale, keyBias, logConstant, excludesSelf, entropy} = calls[0]!
    expect(scale).toBeUndefined()
    const half = (vectors: Float64Array | Float32Array) =>
      [...vectors.subarray(0, SMALL.headDim)].reduce((sum, e) => sum + e * e, 0) / 2
    expectNear(keyBias![0]!, -half(y))
    expectNear(logConstant![0]!, Math.log(3) + half(x))
    expect([excludesSelf, entropy]).toEqual([true, undefined])
  })
})

it('knows which targets are a softmax, which one is the canonical one, and which have a loop', () => {
  const others: Partial<ExactTarget>[] = [
    {kernel: 'gaussian'},
    {inputs: 'unit'},
    {inputScale: 2},
    {constant: 1},
    {excludesSelf: true},
    {dimensionScale: [1]},
  ]
  expect(isCanonicalSoftmax(SOFTMAX)).toBe(true)
  for (const other of others) {
    expect(isCanonicalSoftmax({...SOFTMAX, ...other}), JSON.stringify(other)).toBe(false)
    expect(hasLoopForm({...SOFTMAX, ...other})).toBe(true)
  }
  expect(hasLoopForm({kernel: 'arc-cosine'})).toBe(true)
  expect(hasLoopForm({kernel: 'smreg'})).toBe(false)
  expect(hasExactLoop(SOFTMAX)).toBe(false)
  noted()
  expect(hasExactLoop(SOFTMAX)).toBe(true)
  expect(hasExactLoop({...SOFTMAX, kernel: 'smreg'})).toBe(false)
})
