import {describe, expect, it} from 'vitest'
import {inputFacts} from '../../../src/inputs/input-facts.js'
import {loadInput} from '../../../src/inputs/load.js'
import type {NdArray} from '../../../src/inputs/nd-array.js'
import {ALL, arraySaver, counting, fileSpec} from '../../helpers/input-files.js'

const save = arraySaver()
const [H, L, DV] = [3, 5, 2]

const QKV = {q: counting(1, H, L, 7), k: counting(1, H, L, 7), v: counting(1, H, L, DV)}

let files = 0
/** An input of these arrays, and what is known of it without reading. */
async function read(arrays: Record<string, NdArray>, layer?: number) {
  const spec = fileSpec(await save(`${files++}.safetensors`, arrays))
  const input = await loadInput(spec, {...ALL, layer})
  return {input, facts: await inputFacts(spec, [null], {layer})}
}

const named = (layer: number, arrays: Record<string, NdArray>) =>
  Object.fromEntries(Object.entries(arrays).map(([name, a]) => [`layers.${layer}.${name}`, a]))

describe('an output projection', () => {
  it('is a matrix with a row for each entry of all heads, and no other array', async () => {
    const {input, facts} = await read({
      ...QKV,
      o: counting(1, H * DV, 4),
      residual_norm: counting(1, 1),
    })
    expect(input.outputProjection).toEqual({shape: [1, 1, H * DV, 4], data: counting(1, 6, 4).data})
    expect(input.residualNorm).toBe(1)
    expect([...input.extras.keys()]).toEqual([])
    expect(facts.projectedWidth).toBe(4)
    const bare = await read(QKV)
    expect(bare.input.outputProjection).toBeUndefined()
    expect(bare.input.residualNorm).toBeUndefined()
    expect(bare.facts.projectedWidth).toBe(0)
    // as it is read, and in float32
    expect(facts.loadingBytes - bare.facts.loadingBytes).toBe(24 * 8)
  })

  it('is that of the layer, or one for all layers', async () => {
    const layers = {...named(0, {...QKV, o: counting(1, 6, 4)}), ...named(1, QKV)}
    expect((await read(layers, 0)).facts.projectedWidth).toBe(4)
    expect((await read(layers, 1)).facts.projectedWidth).toBe(0)
    const shared = {...layers, o: counting(1, 6, 9), residual_norm: counting(1)}
    const {input, facts} = await read(shared, 1)
    expect([input.outputProjection!.shape[3], facts.projectedWidth]).toEqual([9, 9])
    expect(input.residualNorm).toBe(1)
    expect((await read(shared, 0)).facts.projectedWidth).toBe(4)
  })

  it('is none where an array of that name has other axes than a matrix', async () => {
    const {input} = await read({...QKV, o: counting(1, 1, H, L, DV)})
    expect(input.outputProjection).toBeUndefined()
    expect([...input.extras.keys()]).toEqual(['o'])
  })

  it('is refused with other rows, or elements that are not finite', async () => {
    await expect(read({...QKV, o: counting(1, 4, 6)})).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: expect.stringMatching(
        /\[o\]: expected the output matrix, with a row for each of the H Dv = 6 entries of all heads, got \[4, 6\]/,
      ),
      suggestions: [expect.stringMatching(/^transpose it: PyTorch/)],
    })
    await expect(read({...QKV, o: counting(1, 5, 4)})).rejects.toMatchObject({
      suggestions: ['rename the array if it is something else'],
    })
    const broken = counting(1, 6, 4)
    broken.data[3] = Number.NaN
    await expect(read({...QKV, o: broken})).rejects.toMatchObject({code: 'NOT_FINITE'})
  })

  it.each([
    ['two numbers', counting(1, 2), /got \[2\]/],
    ['zero', {...counting(1, 1), data: Float32Array.of(0)}, /got 0$/],
  ] as const)('goes with a norm that is not %s', async (_, residual_norm, message) => {
    await expect(read({...QKV, residual_norm: residual_norm as NdArray})).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(message),
    })
  })
})
