/** docs/python.md does what it says: its Python runs, in one namespace. */
import {resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const folder = temporaryFolder()

describe.runIf(PYTHON)('docs/python.md', () => {
  it('has Python that runs and prints what it says', {timeout: 300_000}, async () => {
    const said = await python(
      [resolve('test/python/documented.py'), resolve('docs/python.md')],
      folder,
    )
    expect(said).toContain('Error on arrays.safetensors: 4 heads, 256 tokens, bidirectional')
    expect(said).toContain("UNKNOWN_NAME ['did you mean favor-pos?', 'rfa methods lists all']\n")
    expect(said).toContain('\nsweep.html\n')
    const printed = ['True', 'torch.Size([1, 100, 64])', 'torch.Size([1, 102])']
    expect(said.trimEnd().split('\n').slice(-3)).toEqual(printed)
  })
})
