import {afterAll, beforeEach, describe, expect, it} from 'vitest'
import {nativeHostLoops} from '../../src/backends/native/host-loops.js'
import {errorSums, pairProducts} from '../../src/experiments/error-sweep/measure/metrics.js'
import {placeNumbers} from '../../src/experiments/swap/measure/next-tokens.js'
import {
  type ArcCosineRowsCall,
  bringHostLoops,
  type ErrorSums,
  type ErrorSumsCall,
  type NextTokensCall,
  type SoftmaxRowsCall,
} from '../../src/host-loops.js'
import {normals, randomStream} from '../../src/random/index.js'
import {describeNative, instructionSets} from './addon.js'

/** Half a unit in the last place of 1, in doubles. */
const UNIT = 2 ** -53

const FIELDS = ['squares', 'absolutes', 'cosines', 'rowSumDeviations', 'spread'] as const

describeNative('host loops', addon => {
  const loops = nativeHostLoops(addon)
  // the definition, not the loop of a backend that another file has in use
  beforeEach(() => bringHostLoops({}))
  afterAll(() => {
    addon.selectIsa('')
    addon.setThreads(1)
  })

  describe.each(instructionSets())('errorSums on %s', isa => {
    const cases = [
      {heads: 1, rows: 1, valueDim: 1, groupStep: 1},
      {heads: 3, rows: 5, valueDim: 7, groupStep: 2},
      {heads: 2, rows: 601, valueDim: 65, groupStep: 7},
    ]
    it.each(cases)('$heads heads, $rows rows of $valueDim: the sums of the definition', sizes => {
      addon.selectIsa(isa)
      const [own, defined] = [callOf(sizes), callOf(sizes)]
      const got = loops.errorSums!(own)
      const want = errorSums(defined)
      expect(sameMeans(own, defined)).toBe(true)
      for (const [head, sums] of got.entries()) expectNear(sums, want[head]!, sizes)
    })

    it('gives no distance for entries that are not finite, as the definition', () => {
      addon.selectIsa(isa)
      const sizes = {heads: 3, rows: 9, valueDim: 11, groupStep: 4}
      const [own, defined] = [callOf(sizes), callOf(sizes)]
      for (const {estimate} of [own, defined]) {
        estimate[9 * 12 + 3] = Number.NaN
        estimate[20 * 12] = Infinity
      }
      const got = loops.errorSums!(own)
      const want = errorSums(defined)
      expect(got.map(sums => sums.notFinite)).toEqual([0, 1, 1])
      expect(finiteColumns(got)).toEqual(finiteColumns(want))
      expect(finiteColumns(got).flat().filter(Boolean).length).toBe(3 * 11 - 2)
      for (const head of [1, 2]) {
        for (const field of [...FIELDS, 'largest'] as const) {
          if (!Number.isFinite(want[head]![field])) {
            expect(got[head]![field]).toBe(want[head]![field])
          }
        }
      }
      expect(got[1]).toMatchObject({squares: Number.NaN, largest: Number.NaN})
      expectNear(got[0]!, want[0]!, sizes)
    })

    it('calls rows of zeros alike, and unlike others', () => {
      addon.selectIsa(isa)
      const call = callOf({heads: 3, rows: 1, valueDim: 7, groupStep: 1})
      for (const row of [0, 1]) call.estimate.fill(0, 8 * row, 8 * row + 7)
      call.exact.fill(0, 0, 7)
      expect(loops.errorSums!(call).map(({cosines}) => cosines)).toEqual([1, 0, expect.any(Number)])
    })

    it('gives the same bits with two threads', () => {
      addon.selectIsa(isa)
      const sizes = {heads: 2, rows: 999, valueDim: 64, groupStep: 3}
      const [one, two] = [callOf(sizes), callOf(sizes)]
      addon.setThreads(1)
      const alone = loops.errorSums!(one)
      addon.setThreads(2)
      expect(loops.errorSums!(two)).toEqual(alone)
      expect(sameMeans(one, two)).toBe(true)
      addon.setThreads(1)
    })
  })

  it('refuses arrays of other sizes, which C++ would read or write beyond', () => {
    const call = callOf({heads: 2, rows: 3, valueDim: 5, groupStep: 2})
    const wrong: Partial<ErrorSumsCall>[] = [
      {estimate: call.estimate.subarray(1)},
      {exact: call.exact.subarray(1)},
      {exact: new Float64Array(0)},
      {mean: call.mean.subarray(1)},
      {mean: new Float64Array(call.mean.length) as never},
      {group: call.group!.subarray(1)},
      {heads: 0},
      {valueDim: 2.5},
      {groupStep: 0},
    ]
    for (const other of wrong) {
      expect(() => loops.errorSums!({...call, ...other})).toThrow(/^host loops: expected/)
    }
    expect(() => loops.errorSums!({...call, group: undefined})).not.toThrow()
  })

  describe.each(instructionSets())('nextTokens on %s', isa => {
    it.each([
      [9, 64],
      [5, 1003],
    ])('%i places, %i tokens: the numbers of the definition', (places, vocabulary) => {
      addon.selectIsa(isa)
      const call = tokensCall(places, vocabulary)
      const [got, want] = [loops.nextTokens!(call), placeNumbers(call)]
      expect(got.agreement).toEqual(want.agreement)
      // logits within 6 of each other: sums of n terms, twice, and of terms up to 6 in size
      const bound = 2 * (vocabulary + 8) * UNIT * (6 + Math.log(vocabulary))
      for (const name of ['original', 'exchanged', 'kl'] as const) {
        const off = got[name].map((value, place) => Math.abs(value - want[name][place]!))
        expect(Math.max(...off)).toBeLessThan(bound)
      }
      expect(got.original[3]).toBe(0) // left out
    })
  })

  it.each(instructionSets())('nextTokens on %s takes the first of equal logits', isa => {
    addon.selectIsa(isa)
    const logits = (...tops: number[]) =>
      new Float32Array(101).map((_, i) => Number(tops.includes(i)))
    const agreement = (original: Float32Array, exchanged: Float32Array) =>
      loops.nextTokens!({...{original, exchanged}, next: Int32Array.of(3)}).agreement[0]
    expect(agreement(logits(17, 60), logits(17))).toBe(1)
    expect(agreement(logits(17, 18), logits(17, 100))).toBe(1)
    expect(agreement(logits(17, 60), logits(60))).toBe(0)
  })

  it('nextTokens refuses logits and tokens that do not go together', () => {
    const call = tokensCall(4, 5)
    const wrong = [
      {...call, exchanged: call.exchanged.subarray(1)},
      {...call, next: Int32Array.of(0, 1, 5, 0)},
      {...call, next: Int32Array.of(0, 1, -2, 0)},
      {...call, next: Int32Array.of(0, 1, 2)},
    ]
    for (const one of wrong) expect(() => loops.nextTokens!(one)).toThrow(/^host loops: expected/)
  })

  it.each(instructionSets())('pairProducts on %s: the products of the definition', isa => {
    addon.selectIsa(isa)
    const vectors = Float32Array.from(normals(randomStream(3, 'pairs'), 6 * 1201))
    const [got, want] = [loops.pairProducts!(vectors, 6), pairProducts(vectors, 6)]
    expect(got.length).toBe(15)
    const sizes = pairProducts(vectors.map(Math.abs), 6)
    for (const [at, product] of want.entries()) {
      expect(Math.abs(got[at]! - product)).toBeLessThanOrEqual(2 * 1203 * UNIT * sizes[at]!)
    }
    expect(loops.pairProducts!(vectors, 1)).toEqual(new Float64Array(0))
    for (const count of [0, 5, 2.5]) {
      expect(() => loops.pairProducts!(vectors, count)).toThrow(/^host loops: expected/)
    }
  })

  it('refuses rows of attention of other sizes', () => {
    const doubles = (length: number) => new Float64Array(length)
    const rows = {
      ...{query: doubles(5 * 3), key: doubles(7 * 3), headDim: 3, valueDim: 2},
      ...{value: new Float32Array(7 * 2), out: doubles(5 * 2)},
      ...{causal: true, excludesSelf: false},
    }
    const softmax: SoftmaxRowsCall = {
      ...rows,
      scale: undefined,
      ...{keyBias: doubles(7), logConstant: doubles(5), lse: doubles(5), entropy: doubles(5)},
    }
    const wrong: Partial<SoftmaxRowsCall>[] = [
      {headDim: 4},
      {valueDim: 0},
      {query: doubles(0)},
      {query: new Float32Array(15)},
      {value: new Float32Array(13)},
      {value: undefined},
      {out: doubles(9)},
      {out: undefined},
    ]
    const wrongSoftmax: Partial<SoftmaxRowsCall>[] = [
      {keyBias: doubles(6)},
      {logConstant: doubles(4)},
      {lse: doubles(6)},
      {entropy: doubles(6)},
      {scale: 1}, // of floats only
    ]
    const refused = /^host loops: expected/
    for (const other of [...wrong, ...wrongSoftmax]) {
      expect(() => loops.softmaxRows!({...softmax, ...other})).toThrow(refused)
    }
    const arcs: ArcCosineRowsCall = {...rows, keyLength: doubles(7)}
    for (const other of [...wrong, {keyLength: doubles(6)}]) {
      expect(() => loops.arcCosineRows!({...arcs, ...other} as ArcCosineRowsCall)).toThrow(refused)
    }
    expect(() => loops.softmaxRows!({...softmax, value: undefined, out: undefined})).not.toThrow()
    expect(() => loops.arcCosineRows!(arcs)).not.toThrow()
  })
})

interface Sizes {
  heads: number
  rows: number
  valueDim: number
  groupStep: number
}

/** Which columns of each head have a finite sum. */
function finiteColumns(sums: readonly ErrorSums[]): boolean[][] {
  return sums.map(({rowsSum}) => Array.from(rowsSum, Number.isFinite))
}

function callOf({heads, rows, valueDim, groupStep}: Sizes): ErrorSumsCall {
  const entries = heads * rows * valueDim
  const grouped = Math.ceil((heads * rows) / groupStep) * valueDim
  const drawn = (name: string, length: number) => normals(randomStream(1, name), length)
  return {
    estimate: Float32Array.from(drawn('estimate', heads * rows * (valueDim + 1))),
    exact: Float64Array.from(drawn('exact', entries)),
    ...{heads, valueDim, groupStep, count: 3},
    mean: Float32Array.from(drawn('mean', entries)),
    group: Float32Array.from(drawn('group', grouped)),
  }
}

/** Whether the running sums of two calls have the same bits. */
function sameMeans(a: ErrorSumsCall, b: ErrorSumsCall): boolean {
  const same = (x: Float32Array, y: Float32Array) => x.every((entry, i) => Object.is(entry, y[i]))
  return same(a.mean, b.mean) && same(a.group!, b.group!)
}

/**
 * Two sums of n terms in any order, each term rounded twice, differ by at most `2 (n + 2) u sum|terms|`. A term of
 * the spread is below `(|d| + |mean|)^2 + |d - mean|^2 <= 4 (d^2 + mean^2)`, with |mean| < 6; a cosine is at most 1
 * and wrong by (2 Dv + 8) u besides. Sizes of the terms of a column are together at most those of all columns.
 */
function expectNear(got: ErrorSums, want: ErrorSums, {rows, valueDim}: Sizes): void {
  const entries = rows * valueDim
  const relative = 2 * (entries + 2) * UNIT
  const bounds = {
    squares: relative * want.squares,
    absolutes: relative * want.absolutes,
    spread: relative * 4 * (want.squares + 36 * entries),
    rowSumDeviations: relative * want.rowSumDeviations,
    cosines: rows * (relative + 2 * (2 * valueDim + 8) * UNIT),
  }
  for (const field of FIELDS) {
    expect(Math.abs(got[field] - want[field]), field).toBeLessThanOrEqual(bounds[field])
  }
  for (const [d, sum] of want.rowsSum.entries()) {
    expect(Math.abs(got.rowsSum[d]! - sum)).toBeLessThanOrEqual(
      2 * (rows + 2) * UNIT * want.absolutes,
    )
  }
  expect(got.largest).toBe(want.largest)
  expect(got.notFinite).toBe(want.notFinite)
}

/** Logits from a normal distribution, cut at 3; the fourth place is left out. */
function tokensCall(places: number, vocabulary: number): NextTokensCall {
  const logits = (name: string) =>
    Float32Array.from(normals(randomStream(5, name), places * vocabulary), x =>
      Math.max(-3, Math.min(3, x)),
    )
  const next = Int32Array.from({length: places}, (_, at) => (at === 3 ? -1 : (7 * at) % vocabulary))
  return {original: logits('original'), exchanged: logits('exchanged'), next}
}
