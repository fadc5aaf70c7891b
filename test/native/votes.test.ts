/** What random rows say, by the native loop, held against the definition in TypeScript. */
import {afterAll, afterEach, describe, expect, it} from 'vitest'
import {nativeHostLoops} from '../../src/backends/native/host-loops.js'
import {bringHostLoops} from '../../src/host-loops.js'
import {normals, randomStream} from '../../src/random/index.js'
import {sampledQueries} from '../../src/theory/ratio-error/queries.js'
import type {PositiveHead} from '../../src/theory/ratio-error/types.js'
import {votesOf} from '../../src/theory/ratio-error/votes.js'
import {describeNative, instructionSets} from './addon.js'

/** Half a unit in the last place of 1, in doubles. */
const UNIT = 2 ** -53

const ROWS = 37

function headOf(headDim: number, options: Partial<PositiveHead>) {
  const [keyLen, valueDim] = [150, 5]
  const stream = randomStream(7, 'votes')
  const head: PositiveHead = {
    query: normals(stream, 41 * headDim).map(x => 0.6 * x),
    key: normals(stream, keyLen * headDim).map(x => 0.9 * x),
    value: Float32Array.from(normals(stream, keyLen * valueDim)),
    ...{headDim, valueDim, causal: false},
    ...options,
  }
  return {head, rows: normals(stream, ROWS * headDim).map(x => 1.5 * x)}
}

/** Rounding of the size of logits, of sums over keys and of the runs put together, of either route. */
function boundOf({key, headDim}: PositiveHead, rows: Float64Array, views: number): number {
  const keyLen = key.length / headDim
  const sizes = Array.from({length: ROWS * keyLen}, (_, at) => {
    let sum = 0
    for (let d = 0; d < headDim; d++) {
      const y = key[(at % keyLen) * headDim + d]!
      sum += Math.abs(rows[Math.floor(at / keyLen) * headDim + d]! * y) + y ** 2 / 2
    }
    return sum
  })
  const logit = 2 * (headDim + 6) * Math.max(...sizes)
  return 4 * UNIT * (logit + 2 + keyLen + 8 + 3 * (keyLen / 128 + 2) + 4 * views)
}

describeNative('votes of random rows', addon => {
  afterEach(() => bringHostLoops({}))
  afterAll(() => addon.selectIsa(''))

  describe.each(instructionSets())('on %s', isa => {
    it.each<Partial<PositiveHead>>([
      {headDim: 16},
      {headDim: 16, longKeysCount: true},
      {headDim: 16, causal: true},
      {headDim: 3, causal: true, longKeysCount: true},
    ])('%o: those of the definition', ({headDim, ...options}) => {
      addon.selectIsa(isa)
      const {head, rows} = headOf(headDim!, options)
      const queries = sampledQueries(head, 9)
      const wanted = votesOf(head, queries, rows)
      bringHostLoops(nativeHostLoops(addon))
      const got = votesOf(head, queries, rows)
      const bound = boundOf(head, rows, queries.ends.length)
      const largest = Math.max(...Array.from(head.value, Math.abs))
      expect(farthest(got.logSum, wanted.logSum)).toBeLessThanOrEqual(bound)
      expect(farthest(got.says, wanted.says)).toBeLessThanOrEqual(bound * largest)
      expect(got.logSum.every(Number.isFinite)).toBe(true)
    })
  })
})

function farthest(got: Float64Array, wanted: Float64Array): number {
  expect(got.length).toBe(wanted.length)
  return got.reduce((most, x, at) => Math.max(most, Math.abs(x - wanted[at]!)), 0)
}
