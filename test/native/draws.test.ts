import {afterAll, describe, expect, it} from 'vitest'
import {nativeDraws} from '../../src/backends/native/draws.js'
import {streamKey} from '../../src/random/index.js'
import {normalPairs} from '../../src/random/normal-pairs.js'
import {describeNative, instructionSets} from './addon.js'

/** Of both sides together: see `normals` of `HostLoops`. */
const bound = (x: number) => 6 * 2 ** -52 * Math.abs(x) + 2 ** -100

function streamOf(seed: number, name: string, ...indices: number[]): Uint32Array {
  return Uint32Array.of(...streamKey(seed, name), 0, ...indices)
}

describeNative('draws', addon => {
  const draws = nativeDraws(addon)
  afterAll(() => {
    addon.selectIsa('')
    addon.setThreads(1)
  })

  describe.each(instructionSets())('normals on %s', isa => {
    const cases = [
      {stream: streamOf(1, 'projection.directions', 0, 0, 0), length: 0},
      {stream: streamOf(1, 'projection.directions', 0, 0, 0), length: 1},
      {stream: streamOf(0, '', 3, 2, 1), length: 64},
      {stream: streamOf(2 ** 53 - 1, 'noise', 2 ** 32 - 1, 7, 0), length: 4099},
      {stream: streamOf(2 ** 40 + 3, 'input.gaussian.query', 5, 0, 0), length: 2 ** 17 + 1},
      // the counter wraps
      {stream: Uint32Array.of(7, 8, 2 ** 32 - 3, 9, 10, 11), length: 33},
    ]
    it.each(cases)('$length of them are those of the definition', ({stream, length}) => {
      addon.selectIsa(isa)
      const [got, want] = [new Float64Array(length), new Float64Array(length)]
      const before = Uint32Array.from(stream)
      const after = draws.normals(stream, got)
      const defined = normalPairs(stream, want)
      expect(stream).toEqual(before)
      expect(Math.abs(after - defined)).toBeLessThanOrEqual(bound(defined))
      const wrong = got.findIndex((x, i) => !(Math.abs(x - want[i]!) <= bound(want[i]!)))
      expect(wrong).toBe(-1)
      const floats = new Float32Array(length)
      expect(draws.normals(stream, floats)).toBe(after)
      expect(floats).toEqual(Float32Array.from(got))
    })

    it('gives the same bits with two threads', () => {
      addon.selectIsa(isa)
      const stream = streamOf(3, 'threads', 1, 2, 3)
      const [one, two] = [new Float64Array(2 ** 17 + 1), new Float64Array(2 ** 17 + 1)]
      addon.setThreads(1)
      draws.normals(stream, one)
      addon.setThreads(2)
      draws.normals(stream, two)
      expect(two).toEqual(one)
    })
  })

  it('refuses what is not a stream, and what holds no reals', () => {
    const out = new Float64Array(4)
    expect(() => draws.normals(new Uint32Array(5), out)).toThrow(
      'expected stream: Uint32Array of 6, got Uint32Array of 5',
    )
    const integers = new Int32Array(4) as unknown as Float32Array
    expect(() => draws.normals(new Uint32Array(6), integers)).toThrow(
      'expected out: Float32Array or Float64Array, got Int32Array',
    )
  })
})
