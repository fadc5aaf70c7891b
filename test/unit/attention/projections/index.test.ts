import {afterEach, describe, expect, it} from 'vitest'
import {
  drawProjection,
  ORTH_SIGNS,
  PROJECTION_NAMES,
  type ProjectionName,
  projectionNamed,
} from '../../../../src/attention/index.js'
import {drawProjectionFloats} from '../../../../src/attention/projections/index.js'
import {MAX_SOBOL_DIM} from '../../../../src/attention/projections/sobol.js'
import {
  bringHostLoops,
  type NormalBlocksCall,
  type OrthogonalRowsCall,
} from '../../../../src/host-loops.js'
import {streamKey} from '../../../../src/random/index.js'

const draw = (name: ProjectionName, more: object = {}) =>
  drawProjection({name, heads: 1, numFeatures: 10, headDim: 5, seed: 2, ...more})

describe('projections', () => {
  it('refuses more numbers than an array can hold, and requests that are none', () => {
    expect(() => draw('iid', {numFeatures: 1e9})).toThrow(
      'numFeatures: expected at most 16777216, got',
    )
    expect(() => draw('iid', {numFeatures: 2 ** 24, headDim: 64, heads: 4})).toThrow(
      'projection: expected replicates x heads x numFeatures x headDim of at most 2147483648 numbers, ' +
        'got 1 x 4 x 16777216 x 64',
    )
    const call = drawProjection as (request: unknown) => unknown
    expect(() => call(null)).toThrow('projection: expected an object, got null')
    expect(() => call({})).toThrow('projection: expected one of the projections iid')
  })

  it.each(PROJECTION_NAMES)('%s: states what it is in one line, and a source', name => {
    const {title, citation} = projectionNamed(name)
    expect(title).toMatch(/^[^\n.]{10,100}$/)
    expect(citation).not.toBe('')
  })

  it.each(PROJECTION_NAMES)('%s: draws finite numbers at any size it does not refuse', name => {
    for (const [numFeatures, headDim] of [
      [1, 1],
      [3, 1],
      [2, 2],
      [3, 8],
      [8, 8],
      [17, 5],
      [33, 16],
    ] as const) {
      if (projectionNamed(name).refuses?.({numFeatures, headDim})) continue
      const rows = draw(name, {numFeatures, headDim, heads: 3})
      expect(rows).toHaveLength(3 * numFeatures * headDim)
      expect(rows.every(Number.isFinite), `M ${numFeatures} D ${headDim}`).toBe(true)
    }
  })

  it.each(PROJECTION_NAMES.filter(name => projectionNamed(name).extends !== false))(
    '%s: a smaller draw is the beginning of a larger one',
    name => {
      expect(draw(name, {numFeatures: 17}).subarray(0, 50)).toEqual(draw(name))
    },
  )

  it.each(PROJECTION_NAMES)('%s: heads, seeds, replicates and redraws differ', name => {
    const two = draw(name, {heads: 2})
    const first = two.slice(0, 50)
    expect(draw(name)).toEqual(first)
    expect(draw(name, {replicate: 0, redraw: 0})).toEqual(first)
    const others = [
      two.slice(50),
      draw(name, {seed: 3}),
      draw(name, {replicate: 1}),
      draw(name, {redraw: 1}),
      draw(name, {redraw: 1, replicate: 1}),
      draw(name, {redraw: 2}),
    ]
    const texts = [first, ...others].map(rows => rows.join())
    expect(new Set(texts).size).toBe(texts.length)
  })

  it.each(PROJECTION_NAMES)('%s: floats are the doubles rounded', name => {
    const request = {name, heads: 2, numFeatures: 10, headDim: 5, seed: 2, replicates: 2}
    expect(drawProjectionFloats(request)).toEqual(Float32Array.from(drawProjection(request)))
  })

  it.each(PROJECTION_NAMES)('%s: signs matter where it says so', name => {
    const raw = draw(name, {orthSign: 'raw'})
    const changed = raw.join() !== draw(name).join()
    expect(changed).toBe(projectionNamed(name).takesOrthSign ?? false)
    expect(ORTH_SIGNS[0]).toBe('haar')
  })
})

describe.each(PROJECTION_NAMES)('several repetitions of %s', name => {
  it('are those of each by itself, one after the other', () => {
    const request = {name, heads: 2, numFeatures: 16, headDim: 8, seed: 3} as const
    const together = drawProjection({...request, replicate: 5, replicates: 3})
    const alone = [5, 6, 7].flatMap(replicate => [...drawProjection({...request, replicate})])
    expect([...together]).toEqual(alone)
  })
})

describe('the loops of the backend in use', () => {
  const request = {numFeatures: 7, headDim: 3, seed: 2, replicate: 4, replicates: 2, redraw: 1}
  const place = {replicate: 4, head: 0, block: 0, replicates: 2, heads: 1}
  const directions = streamKey(2, 'projection.directions.1')
  afterEach(() => bringHostLoops({}))

  it('draw independent rows, told what to draw', () => {
    const calls: NormalBlocksCall[] = []
    bringHostLoops({normalBlocks: call => calls.push(call)})
    const out = draw('iid', request)
    expect(calls).toEqual([{key: directions, ...place, length: 21, blockLength: 9, out}])
    expect(calls[0]!.out).toBe(out)
  })

  it('draw orthogonal rows with Haar signs, and no others', () => {
    const calls: OrthogonalRowsCall[] = []
    bringHostLoops({orthogonalRows: call => calls.push(call)})
    const [chi, same] = [draw('orth', request), draw('orth-sqrt-d', request)]
    const wanted = {directionKey: directions, ...place, numFeatures: 7, headDim: 3}
    const lengthKey = streamKey(2, 'projection.lengths.1')
    expect(calls).toEqual([
      {...wanted, lengthKey, out: chi},
      {...wanted, lengthKey: undefined, out: same},
    ])
    draw('orth', {...request, orthSign: 'raw'})
    expect(calls).toHaveLength(2)
  })
})

describe('what cannot be drawn', () => {
  it.each(['heads', 'numFeatures', 'headDim'])('refuses a %s below 1', what => {
    expect(() => draw('iid', {[what]: 0})).toThrow(
      `${what}: expected a whole number of at least 1, got 0`,
    )
  })

  it.each(['seed', 'replicate', 'redraw'])('refuses a negative %s', what => {
    expect(() => draw('iid', {[what]: -1})).toThrow(
      `${what}: expected a whole number of at least 0, got -1`,
    )
  })

  it('guesses the name that was meant', () => {
    expect(() => draw('orthh' as 'orth')).toThrow(/one of the projections orth, .* and \d+ more/)
    expect(() => draw('orth', {orthSign: 'lapack'})).toThrow(/one of the signs haar, raw/)
  })

  it('moment needs more rows than columns', () => {
    expect(() => draw('moment', {numFeatures: 5})).toThrow(
      'numFeatures: expected more than the head dimension 5 for moment, got 5',
    )
  })

  it('orth-tall needs as many rows as columns', () => {
    expect(() => draw('orth-tall', {numFeatures: 4})).toThrow(
      'numFeatures: expected at least the head dimension 5 for orth-tall, got 4',
    )
  })

  it('sobol ends with its table', () => {
    const headDim = MAX_SOBOL_DIM + 1
    expect(() => draw('sobol', {numFeatures: 1, headDim})).toThrow(
      `headDim: expected at most ${MAX_SOBOL_DIM} for sobol, got ${headDim}`,
    )
    expect(draw('sobol', {numFeatures: 1, headDim: MAX_SOBOL_DIM})).toHaveLength(MAX_SOBOL_DIM)
  })
})
