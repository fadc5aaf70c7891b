import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {fileShape} from '../../../../src/cli/plans/bench-input.js'
import {writeArrays} from '../../../../src/inputs/files/index.js'
import {elementCount} from '../../../../src/inputs/nd-array.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const folder = temporaryFolder()
const CAUSAL = 'fixtures/charlm-layer0.safetensors'
const SILENT = {note: () => {}, warn: () => {}}

/** A file of arrays by their shapes. */
async function save(name: string, shapes: Record<string, number[]>): Promise<string> {
  const path = join(folder, name)
  const arrays = Object.entries(shapes).map(([array, shape]) => {
    const data = new Float32Array(elementCount(shape))
    return [array, {shape, dtype: 'float32' as const, data}]
  })
  await writeArrays(path, Object.fromEntries(arrays))
  return path
}

const GROUPED = {q: [2, 6, 11, 7], k: [2, 3, 11, 7], v: [2, 3, 11, 5]}
const SIZES = {batch: 2, heads: 6, keyHeads: 3, queryLen: 11, keyLen: 11, headDim: 7, valueDim: 5}

describe('fileShape', () => {
  it('is none where no file is named', async () => {
    expect(await fileShape({heads: 3}, SILENT)).toBeUndefined()
  })

  it('is what the header says, shared heads among it', async () => {
    const input = [await save('grouped.npz', GROUPED)]
    expect(await fileShape({input}, SILENT)).toEqual({...SIZES, causal: false})
  })

  it('reads names, layout and files as other commands do', async () => {
    const shapes = {qq: [2, 11, 6, 7], kk: [2, 11, 3, 7], vv: [2, 11, 3, 5]}
    const named = {'query-name': 'qq', 'key-name': 'kk', 'value-name': 'vv'}
    const input = [await save('blhd.npz', shapes)]
    expect(await fileShape({input, ...named, layout: 'blhd'}, SILENT)).toMatchObject(SIZES)
    await expect(fileShape({input}, SILENT)).rejects.toMatchObject({code: 'ARRAY_MISSING'})
    await expect(fileShape({input: [join(folder, 'no.npz')]}, SILENT)).rejects.toMatchObject({
      code: 'FILE_MISSING',
    })
  })

  it('tells the shapes, and the mask as the file says unless a flag says otherwise', async () => {
    const asked = async (flags: {causal?: boolean; mode?: string}) => {
      const said: string[] = []
      const listeners = {...SILENT, note: (text: string) => said.push(text)}
      const {causal} = (await fileShape({input: [CAUSAL], ...flags}, listeners))!
      return {causal, said}
    }
    const sizes = 'shapes of charlm-layer0.safetensors: B=1 H=4 D=64 Dv=64 L=512'
    expect(await asked({})).toEqual({causal: true, said: [`${sizes}, causal (as the file says)`]})
    expect(await asked({causal: true})).toEqual({causal: true, said: [`${sizes}, causal`]})
    expect(await asked({causal: false})).toEqual({causal: false, said: [`${sizes}, bidirectional`]})
    expect((await asked({mode: 'decode'})).said).toEqual([sizes])
  })

  it('warns of axes that seem to be in another order', async () => {
    const shape = [1, 31, 3, 5]
    const input = [await save('torch.npz', {q: shape, k: shape, v: shape})]
    const warned: string[] = []
    await fileShape({input}, {...SILENT, warn: text => warned.push(text)})
    expect(warned).toEqual([expect.stringContaining('it has 31 heads and 3 tokens')])
  })

  it.each(['batch', 'heads', 'kv-heads', 'head-dim', 'value-dim'])(
    'refuses --%s beside a file',
    async name => {
      await expect(fileShape({input: [CAUSAL], [name]: 4}, SILENT)).rejects.toMatchObject({
        code: 'USAGE',
        message: `--${name}: expected no --input with it, as the file has sizes, got both`,
      })
    },
  )

  it.each([
    ['layer', {layer: [[3]]}],
    ['key-name', {'key-name': 'kk'}],
    ['layout', {layout: 'blhd' as const}],
  ])('refuses --%s without a file', async (name, flags) => {
    await expect(fileShape(flags, SILENT)).rejects.toMatchObject({
      code: 'USAGE',
      message: `--${name}: expected --input with it, got none`,
    })
  })

  it('refuses keys that are not as many as queries, unless lengths are typed', async () => {
    const input = [await save('cross.npz', {...GROUPED, q: [2, 6, 4, 7]})]
    await expect(fileShape({input}, SILENT)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message: 'cross.npz: expected equal numbers of keys and queries, got 4 queries and 11 keys',
      suggestions: ['say which lengths to time with `seqLen`'],
    })
    const typed = await fileShape({input, 'seq-len': [[64]]}, SILENT)
    expect(typed).toMatchObject({batch: 2, heads: 6, keyHeads: 3})
  })

  it('takes layers of one shape, and one of several', async () => {
    const layer = (at: number, [q, k, v]: number[][]) => ({
      [`layers.${at}.q`]: q!,
      [`layers.${at}.k`]: k!,
      [`layers.${at}.v`]: v!,
    })
    const [one, other] = [Object.values(GROUPED), Array(3).fill([1, 2, 11, 7])]
    const shapes = {...layer(0, one), ...layer(2, one), ...layer(5, other)}
    const input = [await save('layers.npz', shapes)]
    expect(await fileShape({input, layer: [[0, 2]]}, SILENT)).toMatchObject(SIZES)
    expect(await fileShape({input, layer: [[5]]}, SILENT)).toMatchObject({batch: 1, heads: 2})
    await expect(fileShape({input}, SILENT)).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      message:
        'layers.npz: expected layers of one shape, got B=2 H=6 Hkv=3 D=7 Dv=5 L=11 in layer 0, B=1 H=2 D=7 Dv=7 L=11 in layer 5',
      suggestions: ['take those of one with `layer: 0`'],
    })
    await expect(fileShape({input, layer: [[1]]}, SILENT)).rejects.toMatchObject({
      code: 'ARRAY_MISSING',
    })
  })
})
