import {createHash} from 'node:crypto'
import {existsSync, readFileSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {pinInput} from '../../../src/inputs/digest.js'
import {writeArrays} from '../../../src/inputs/files/index.js'
import {temporaryFolder} from '../../helpers/folders.js'

const names = {query: 'q', key: 'k', value: 'v'}
const folder = temporaryFolder()

/** A file of equal arrays q, k and v; .npy has one of them. */
async function file(name: string, first: number): Promise<string> {
  const array = {shape: [3, 2], dtype: 'float32', data: new Float32Array(6).fill(first)} as const
  const path = join(folder, name)
  const one = {...array, shape: [...array.shape]}
  await writeArrays(path, name.endsWith('.npy') ? {q: one} : {q: one, k: one, v: one})
  return path
}

describe('pinInput', () => {
  it('adds the SHA-256 of all files in order', async () => {
    const paths = [await file('q.npy', 1), await file('k.npy', 2), await file('v.npy', 3)]
    const hash = createHash('sha256')
    for (const path of paths) hash.update(readFileSync(path))
    const digest = hash.digest('hex')
    expect(await pinInput({kind: 'file', paths, names})).toEqual({
      kind: 'file',
      paths,
      names,
      digest,
    })
  })

  it('distinguishes a changed file from the one before', async () => {
    const paths = [await file('a.npz', 1)]
    const before = await pinInput({kind: 'file', paths, names})
    await file('a.npz', 2)
    expect(await pinInput({kind: 'file', paths, names})).not.toEqual(before)
  })

  it.each(['a.npz', 'a.npy', 'a.safetensors'])(
    'refuses 100 GB that are no %s by their first or last bytes',
    async name => {
      const path = join(folder, `sparse-${name}`)
      writeFileSync(path, '')
      truncateSync(path, 1e11)
      const pinned = pinInput({kind: 'file', paths: [path], names})
      await expect(pinned).rejects.toMatchObject({code: 'BAD_FILE'})
    },
  )

  it.runIf(existsSync('/dev/zero'))('refuses what never ends', async () => {
    const path = join(folder, 'endless.npz')
    symlinkSync('/dev/zero', path)
    const pinned = pinInput({kind: 'file', paths: [path], names})
    await expect(pinned).rejects.toMatchObject({code: 'BAD_FILE'})
  })

  it('leaves a generator as it is', async () => {
    const spec = {
      kind: 'generator',
      name: 'unit',
      batch: 1,
      heads: 2,
      head_dim: 3,
      value_dim: 5,
      key_len: null,
    } as const
    expect(await pinInput(spec)).toEqual(spec)
  })

  it('refuses a file that is not there', async () => {
    const missing = {kind: 'file', paths: [join(folder, 'none.npz')], names} as const
    await expect(pinInput({...missing, paths: [...missing.paths]})).rejects.toMatchObject({
      code: 'FILE_MISSING',
      message: expect.stringContaining('none.npz: no such file'),
    })
  })
})
