import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {readArrays, writeArrays} from '../../../src/inputs/files/index.js'
import {readTuned, type Tuned, writeTuned} from '../../../src/tuned/index.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {exampleTuned} from '../../helpers/tuned.js'

const folder = temporaryFolder()
let files = 0

async function written(tuned: Tuned): Promise<string> {
  const path = join(folder, `${files++}.safetensors`)
  await writeTuned(path, tuned)
  return path
}

/** A copy of a file with other arrays or texts. */
async function changed(
  path: string,
  change: (file: Awaited<ReturnType<typeof readArrays>>) => void,
): Promise<string> {
  const file = await readArrays(path)
  change(file)
  const copy = join(folder, `${files++}.safetensors`)
  await writeArrays(copy, Object.fromEntries(file.arrays), file.metadata)
  return copy
}

const grouped = {heads: 4, keyHeads: 2}

describe('a file of learned parameters', () => {
  it.each([
    ['maps of several layers', exampleTuned(grouped, {layers: [0, 3, 11]})],
    ['rows of several draws', exampleTuned({learned: 'maps,rows'}, {layers: [2], draws: 12})],
    ['rows alone', exampleTuned({learned: 'rows'}, {draws: 2})],
    ['arrays of no layer', exampleTuned({learned: 'temperature'}, {layers: [undefined]})],
    ['no random vectors', exampleTuned({method: 'elu', projection: null, numFeatures: null})],
    ['what was learned for', exampleTuned({loss: 'rows', sequential: true})],
    [
      'options',
      exampleTuned({options: {tau: 0.5, guard: 'clamp', on: true}, causal: true, seed: 7}),
    ],
  ])('holds %s', async (_, tuned) => {
    const path = await written(tuned)
    const {digest, path: own, ...read} = await readTuned(path)
    expect(read).toEqual(tuned)
    expect(own).toBe(path)
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
  })

  it('says what was learned for, and in turn, where it is not as ever', async () => {
    const textsOf = async (tuned: Tuned) => (await readArrays(await written(tuned))).metadata
    const plain = await textsOf(exampleTuned())
    expect(plain).not.toHaveProperty('loss')
    const other = await textsOf(exampleTuned({loss: 'rows', sequential: true}))
    expect(other).toEqual({...plain, loss: 'rows', sequential: 'true'})
  })

  it('has the names and shapes that its page states', async () => {
    const path = await written(exampleTuned({...grouped, learned: 'maps,rows'}, {draws: 2}))
    const {arrays, metadata} = await readArrays(path)
    const shapes = Object.fromEntries([...arrays].map(([name, {shape}]) => [name, shape]))
    expect(shapes).toEqual({
      'layers.0.draws.0.query_map': [4, 4, 4],
      'layers.0.draws.0.key_map': [2, 4, 4],
      'layers.0.draws.0.projection': [4, 8, 4],
      'layers.0.draws.1.query_map': [4, 4, 4],
      'layers.0.draws.1.key_map': [2, 4, 4],
      'layers.0.draws.1.projection': [4, 8, 4],
    })
    expect(metadata).toEqual({
      ...{format: 'rfa.tuned/1', method: 'favor-pos', preset: 'exact', options: '{}'},
      ...{projection: 'orth', num_features: '8', causal: 'false', heads: '4', key_heads: '2'},
      ...{head_dim: '4', learned: 'maps,rows', seed: '0', layers: '0'},
      'layers.0.scale': '0.5',
      'layers.0.held_out_before': '0.9',
      'layers.0.held_out_after': '0.5',
    })
  })

  it('has equal bytes for equal parameters', async () => {
    const [a, b] = [await written(exampleTuned()), await written(exampleTuned())]
    expect(await readFile(a)).toEqual(await readFile(b))
    expect((await readTuned(a)).digest).toBe((await readTuned(b)).digest)
  })

  it('is not written under another ending', async () => {
    await expect(writeTuned(join(folder, 'tuned.npz'), exampleTuned())).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: expect.stringMatching(/expected a name that ends in \.safetensors/),
    })
  })
})

describe('what is refused', () => {
  it('a file that is not there', async () => {
    await expect(readTuned(join(folder, 'none.safetensors'))).rejects.toMatchObject({
      code: 'FILE_MISSING',
    })
  })

  it('a cut file', async () => {
    const bytes = await readFile(await written(exampleTuned()))
    for (const end of [4, 40, bytes.length - 1]) {
      const path = join(folder, `cut-${end}.safetensors`)
      await writeFile(path, bytes.subarray(0, end))
      await expect(readTuned(path)).rejects.toMatchObject({code: 'BAD_FILE'})
    }
  })

  it("another program's file, or one of a later version, by its format", async () => {
    const path = await written(exampleTuned())
    for (const [format, got] of [
      [undefined, 'got one without metadata format'],
      ['pt', 'got format "pt"'],
      ['rfa.tuned/2', 'got format "rfa.tuned/2"'],
    ] as const) {
      const other = await changed(path, ({metadata}) => {
        delete metadata.format
        if (format) metadata.format = format
      })
      const error = await readTuned(other).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({code: 'BAD_FILE', message: expect.stringContaining(got)})
    }
  })

  it.each([
    ['options', '{tau', 'a JSON object of options'],
    ['options', '[1]', 'a JSON object of options'],
    ['learned', 'weights', 'one of temperature; maps; rows; maps,rows'],
    ['heads', '-2', 'H, a positive integer'],
    ['num_features', '8.5', 'M, a positive integer'],
    ['causal', 'yes', 'true or false'],
    ['projection', 'orthogonal', 'the name of a projection'],
    ['layers.0.scale', 'NaN', 'a positive number, the factor on q.k'],
    ['layers.0.held_out_after', '-1', 'an error, a number from 0'],
  ])('the text %s %s', async (name, text, what) => {
    const path = await changed(await written(exampleTuned()), ({metadata}) => {
      metadata[name] = text
    })
    await expect(readTuned(path)).rejects.toMatchObject({
      code: 'BAD_FILE',
      message: `${path}, metadata ${name}: expected ${what}, got ${JSON.stringify(text)}`,
    })
  })

  it('a text that is missing', async () => {
    const path = await changed(await written(exampleTuned()), ({metadata}) => {
      delete metadata.head_dim
    })
    await expect(readTuned(path)).rejects.toMatchObject({
      message: `${path}, metadata head_dim: expected D, a positive integer, got nothing`,
    })
  })

  it('arrays of another shape, missing ones, none at all, and numbers that are not finite', async () => {
    const path = await written(exampleTuned({learned: 'maps,rows'}, {draws: 2}))
    const first = 'layers.0.draws.0'
    const faults: [code: string, (file: Awaited<ReturnType<typeof readArrays>>) => void][] = [
      [
        'SHAPE_MISMATCH',
        ({arrays}) => {
          arrays.get(`${first}.query_map`)!.shape = [2, 2, 8]
        },
      ],
      [
        'ARRAY_MISSING',
        ({arrays}) => {
          arrays.delete(`${first}.projection`)
        },
      ],
      [
        'ARRAY_MISSING',
        ({arrays}) => {
          arrays.delete('layers.0.draws.1.key_map')
        },
      ],
      [
        'ARRAY_MISSING',
        ({arrays}) => {
          arrays.clear()
        },
      ],
      [
        'BAD_FILE',
        ({arrays}) => {
          arrays.get(`${first}.key_map`)!.data[3] = Number.NaN
        },
      ],
    ]
    for (const [code, change] of faults) {
      await expect(readTuned(await changed(path, change))).rejects.toMatchObject({code})
    }
  })
})
