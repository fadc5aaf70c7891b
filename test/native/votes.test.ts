/** What random rows say, by the native loop, held against the definition in TypeScript. */
import {afterAll, afterEach, describe, expect, it} from 'vitest'
import {nativeHostLoops} from '../../src/backends/native/host-loops.js'
import {bringHostLoops} from '../../src/host-loops.js'
import {normals, randomStream} from '../../src/random/index.js'
import {exactOutputs, sampledQueries} from '../../src/theory/ratio-error/queries.js'
import {drawnErrors} from '../../src/theory/ratio-error/simulate.js'
import type {PositiveHead} from '../../src/theory/ratio-error/types.js'
import {votesByView} from '../../src/theory/ratio-error/votes.js'
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
      const {ends} = sampledQueries(head, 9)
      const wanted = allViews(head, ends, rows)
      bringHostLoops(nativeHostLoops(addon))
      const got = allViews(head, ends, rows)
      const bound = boundOf(head, rows, ends.length)
      const largest = Math.max(...Array.from(head.value, Math.abs))
      expect(got.length).toBe(ends.length)
      for (const [view, {logSum, says}] of got.entries()) {
        expect(farthest(logSum, wanted[view]!.logSum)).toBeLessThanOrEqual(bound)
        expect(farthest(says, wanted[view]!.says)).toBeLessThanOrEqual(bound * largest)
        expect(logSum.every(Number.isFinite)).toBe(true)
      }
    })

    it.each<Partial<PositiveHead>>([{}, {paired: true}])(
      '%o: errors that are drawn are those of the definition',
      options => {
        addon.selectIsa(isa)
        const {head} = headOf(6, options)
        const numFeatures = [2, 4, 8, 16]
        const rows = normals(randomStream(8, 'rows'), 32 * head.headDim)
        const queries = sampledQueries(head, 9)
        const exact = exactOutputs(head, queries)
        const drawn = () => drawnErrors(head, {queries, exact}, {rows, numFeatures})
        bringHostLoops({})
        const wanted = drawn()
        bringHostLoops(nativeHostLoops(addon))
        const got = drawn()
        // what rows say is rounded to float32; all else is rounding of doubles, far below another such rounding
        const off = 2 ** -23 * Math.max(...Array.from(head.value, Math.abs))
        const entries = exact.length
        for (const [k, own] of wanted.entries()) {
          for (const [draw, error] of own.entries()) {
            const bound = 2 * Math.sqrt(entries * error) * off + entries * off ** 2
            expect(Math.abs(got[k]![draw]! - error)).toBeLessThanOrEqual(bound)
          }
        }
      },
    )
  })
})

/** Copies: a view is written over the one before. */
function allViews(head: PositiveHead, ends: Int32Array, rows: Float64Array) {
  const views = votesByView(head, ends, {rows, levels: [1, 0.5]})
  return Array.from(views, ({logSum, says}) => ({logSum: logSum.slice(), says: says.slice()}))
}

function farthest(got: Float64Array, wanted: Float64Array): number {
  expect(got.length).toBe(wanted.length)
  return got.reduce((most, x, at) => Math.max(most, Math.abs(x - wanted[at]!)), 0)
}
