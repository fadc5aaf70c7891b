import {afterAll, afterEach, beforeEach, describe, expect, it} from 'vitest'
import {drawNoise} from '../../src/attention/forms/noise.js'
import {drawProjection, PROJECTION_NAMES, projectionNamed} from '../../src/attention/index.js'
import {
  drawProjectionFloats,
  type ProjectionRequest,
} from '../../src/attention/projections/index.js'
import {orthonormalizeRows} from '../../src/attention/projections/orthogonal.js'
import {nativeDraws} from '../../src/backends/native/draws.js'
import {bringHostLoops} from '../../src/host-loops.js'
import {normals, randomStream} from '../../src/random/index.js'
import {describeNative, instructionSets} from './addon.js'

/** Half a unit in the last place of 1, in doubles. */
const UNIT = 2 ** -53

const SHAPES = [
  {numFeatures: 3, headDim: 7},
  {numFeatures: 17, headDim: 5},
  {numFeatures: 70, headDim: 33},
  {numFeatures: 5, headDim: 1},
]

describeNative('projections', addon => {
  const loops = nativeDraws(addon)
  const native = <T>(draw: () => T): T => {
    bringHostLoops(loops)
    try {
      return draw()
    } finally {
      bringHostLoops({})
    }
  }
  beforeEach(() => bringHostLoops({}))
  afterEach(() => bringHostLoops({}))
  afterAll(() => {
    addon.selectIsa('')
    addon.setThreads(1)
  })

  describe.each(instructionSets())('on %s', isa => {
    beforeEach(() => {
      addon.selectIsa(isa)
    })

    it.each(PROJECTION_NAMES)('%s: those of the definition to the rounding of float32', name => {
      for (const request of requestsOf(name)) {
        const [got, want] = [native(() => drawProjection(request)), drawProjection(request)]
        // of the largest entry; rounding in double precision, times a condition below 2^29 / D, is less
        const bound = 2 ** -24 * want.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
        const wrong = got.findIndex((x, i) => !(Math.abs(x - want[i]!) <= bound))
        expect(wrong, JSON.stringify(request)).toBe(-1)
      }
    })

    it.each(PROJECTION_NAMES)('%s: floats are the doubles rounded', name => {
      for (const request of requestsOf(name)) {
        const doubles = native(() => drawProjection(request))
        expect(native(() => drawProjectionFloats(request))).toEqual(Float32Array.from(doubles))
      }
    })

    it.each(PROJECTION_NAMES)('%s: repetitions together are those of each, bit for bit', name => {
      for (const request of requestsOf(name)) {
        addon.setThreads(2)
        const together = native(() => drawProjectionFloats({...request, replicates: 3}))
        addon.setThreads(1)
        const alone = [5, 6, 7].flatMap(replicate => [
          ...native(() => drawProjectionFloats({...request, replicate})),
        ])
        expect([...together]).toEqual(alone)
      }
    })

    it.each(PROJECTION_NAMES.filter(name => projectionNamed(name).extends !== false))(
      '%s: a smaller draw is the beginning of a larger one',
      name => {
        const draw = (numFeatures: number) =>
          native(() => drawProjection({name, heads: 1, headDim: 9, seed: 2, numFeatures}))
        const all = draw(23)
        for (const rows of [1, 2, 4, 9, 11, 18]) expect(draw(rows)).toEqual(all.slice(0, 9 * rows))
      },
    )

    it.each([1, 2, 5, 8, 17, 33, 64])('Gram-Schmidt in %i dimensions', dim => {
      for (const rows of new Set([1, Math.ceil(dim / 2), dim])) {
        const input = normals(randomStream(dim, 'test.rows', rows), rows * dim)
        const [got, want] = [Float64Array.from(input), Float64Array.from(input)]
        native(() => orthonormalizeRows(got, dim))
        orthonormalizeRows(want, dim)
        // both factor a matrix that is off by the rounding of two passes of R products of D terms each, relative to
        // the norm; a factor moves by sqrt(2) times that and the condition number
        const bound = 2 * Math.SQRT2 * 2 * (rows + dim) * UNIT * conditionOf(input, want, dim)
        const difference = Math.hypot(...got.map((x, i) => x - want[i]!))
        expect(difference).toBeLessThanOrEqual(bound)
      }
    })

    it('random arrays of methods are those of the definition', () => {
      const spec = {distribution: 'normal', rows: 5, columns: 7} as const
      const draw = () =>
        drawNoise('noise', spec, {batch: 2, heads: 3}, {seed: 2 ** 40, replicate: 6}, 2 ** 20)
      const [got, want] = [native(draw), draw()]
      // a double that is off by some units may round to the next float
      const wrong = got.findIndex((x, i) => Math.abs(x - want[i]!) > 2 ** -23 * Math.abs(x))
      expect(wrong).toBe(-1)
    })
  })

  it('refuses sizes and arrays that do not fit', () => {
    const key = new Uint32Array(2)
    const place = {replicate: 0, head: 0, block: 0, replicates: 1, heads: 2}
    const blocks = {key, ...place, length: 3, blockLength: 2, out: new Float32Array(6)}
    expect(() => loops.normalBlocks({...blocks, out: new Float32Array(5)})).toThrow(
      'expected out: Float32Array or Float64Array of 6, got Float32Array of 5',
    )
    expect(() => loops.normalBlocks({...blocks, blockLength: 0})).toThrow(
      'expected blockLength: a whole number of at least 1, got 0',
    )
    const rows = {directionKey: key, lengthKey: undefined, ...place, numFeatures: 2, headDim: 3}
    const out = new Float64Array(12)
    expect(() => loops.orthogonalRows({...rows, lengthKey: new Uint32Array(3), out})).toThrow(
      'expected lengthKey: Uint32Array of 2, got Uint32Array of 3',
    )
    expect(() => loops.orthogonalRows({...rows, heads: 3, out})).toThrow('of 18, got Float64Array')
    expect(() => loops.orthonormalizeRows(new Float64Array(6), 2)).toThrow(
      'expected matrix: at most 2 rows of 2, got Float64Array of 6',
    )
    expect(() => loops.orthonormalizeRows(new Float64Array(5), 3)).toThrow('at most 3 rows of 3')
    const floats = new Float32Array(4) as unknown as Float64Array
    expect(() => loops.orthonormalizeRows(floats, 2)).toThrow('expected matrix: Float64Array')
  })
})

/** One of each shape that the projection has. */
function requestsOf(name: (typeof PROJECTION_NAMES)[number]): ProjectionRequest[] {
  return SHAPES.filter(shape => !projectionNamed(name).refuses?.(shape)).map(shape => ({
    name,
    ...shape,
    heads: 2,
    seed: 2 ** 33 + 5,
    replicate: 5,
  }))
}

/** |A| |A^-1| in the Frobenius norm, A = L Q: that of the triangle L. */
function conditionOf(matrix: Float64Array, factor: Float64Array, columns: number): number {
  const rows = matrix.length / columns
  const row = (of: Float64Array, i: number) => of.subarray(i * columns, (i + 1) * columns)
  const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, d) => sum + x * b[d]!, 0)
  const triangle = (i: number, j: number) => dot(row(matrix, i), row(factor, j))
  let squares = 0
  for (let column = 0; column < rows; column++) {
    const solved = new Float64Array(rows)
    for (let i = column; i < rows; i++) {
      let rest = i === column ? 1 : 0
      for (let j = column; j < i; j++) rest -= triangle(i, j) * solved[j]!
      solved[i] = rest / triangle(i, i)
    }
    squares += dot(solved, solved)
  }
  return Math.sqrt(squares) * Math.hypot(...matrix)
}
