import {createHash} from 'node:crypto'
import {mkdtempSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {pinInput} from '../../../src/inputs/digest.js'

const names = {query: 'q', key: 'k', value: 'v'}
const folder = mkdtempSync(join(tmpdir(), 'rfa-digest-'))
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('pinInput', () => {
  it('adds the SHA-256 of all files in order', async () => {
    const paths = [file('q.npy', 'one'), file('k.npy', 'two'), file('v.npy', 'three')]
    const digest = createHash('sha256').update('onetwothree').digest('hex')
    expect(await pinInput({kind: 'file', paths, names})).toEqual({
      kind: 'file',
      paths,
      names,
      digest,
    })
  })

  it('tells a changed file from the one before', async () => {
    const paths = [file('a.npz', 'before')]
    const before = await pinInput({kind: 'file', paths, names})
    file('a.npz', 'after')
    expect(await pinInput({kind: 'file', paths, names})).not.toEqual(before)
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
      message: expect.stringContaining('none.npz: expected a file, got none'),
    })
  })
})
